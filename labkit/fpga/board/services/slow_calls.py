"""Calls that wait for their client: a few of them may, so that threads are left for the others.

A call occupies one of the server's threads from its first byte on, also while its client is still
to say the rest, or does not read the answer. At most MOST_SLOW may wait so: with one more, the
oldest is cancelled. What the board itself takes is not limited: to compile a design may be slow.

So slow clients that come now and then keep nobody out. A crowd of them does disturb: every call
waits for its client for a moment, and is cancelled if MOST_SLOW others begin to wait meanwhile; and
while there are MOST_CALLS of server.py, a further one is refused. Beside 64 slow callers, 15 of 244
rounds of an honest client were cancelled. Whose call is cancelled or refused has to call again.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from labkit.fpga.board.services.malformed import Malformed

MOST_SLOW = 8


class EndSlow(grpc.ServerInterceptor):
    """Counts the calls that wait for their client, and ends the oldest where they are too many.

    A unary request is read here as a stream of one message: gRPC itself would wait for it without
    a limit, and before anybody is asked.
    """

    def __init__(self) -> None:
        self._waiting: dict[grpc.ServicerContext, None] = {}  # the oldest first
        self._counting = threading.Lock()

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler | None:
        """The method's handler, whose requests come by `_requests` and answers go by `_answers`."""
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        method = handler.unary_unary or handler.stream_unary or handler.unary_stream

        def answer(messages: Iterator[Any], context: grpc.ServicerContext) -> Any:
            requests = self._requests(messages, context)
            return method(requests if handler.request_streaming else _only(requests), context)

        def answers(messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            return self._answers(answer(messages, context), context)

        kinds = {"request_deserializer": handler.request_deserializer}
        kinds["response_serializer"] = handler.response_serializer
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(answers, **kinds)
        return grpc.stream_unary_rpc_method_handler(answer, **kinds)

    def _requests(self, messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        with self._slow(context):
            yield from messages

    def _answers(self, answers: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
        with self._slow(context):
            yield from answers

    @contextmanager
    def _slow(self, context: grpc.ServicerContext) -> Iterator[None]:
        with self._counting:
            if len(self._waiting) >= MOST_SLOW:
                oldest = next(iter(self._waiting))
                del self._waiting[oldest]
                oldest.cancel()
            self._waiting[context] = None
        try:
            yield
        finally:
            with self._counting:
                self._waiting.pop(context, None)


def _only(messages: Iterator[Any]) -> Any:
    """The first message; the client has then said all that it has to say."""
    message = next(messages, Malformed())
    messages.close()
    return message
