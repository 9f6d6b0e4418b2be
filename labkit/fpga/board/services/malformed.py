"""Bytes that are no message: refused by the board itself, with a sentence.

gRPC would refuse them too, but grpcio 1.64 now and then keeps such a call for ever, and then its
server never stops.
"""

from collections.abc import Callable
from typing import Any

import grpc

SENTENCE = "These bytes are no message of this call: the client is not pynq 4.0.0, or is broken."


class Malformed:
    """Stands for a message that could not be read."""


class ReadLeniently(grpc.ServerInterceptor):
    """Gives the services a `Malformed` where gRPC would give up."""

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler | None:
        """The method's handler, with another reader."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        return handler._replace(request_deserializer=_lenient(handler.request_deserializer))


def refuse(message: Any, context: grpc.ServicerContext) -> None:
    """Ends the call of a message that could not be read."""
    if isinstance(message, Malformed):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, SENTENCE)


def _lenient(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    def read_or_stand_in(data: bytes) -> Any:
        try:
            return read(data)
        except Exception:  # whatever the parser says
            return Malformed()

    return read_or_stand_in
