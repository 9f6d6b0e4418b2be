"""What PYNQ.remote's four services have in common: a machine, its lock, and how errors are told.

What goes wrong is told in the answer's `msg`, which pynq raises as a RuntimeError. Where pynq's
answer has no `msg`, or pynq does not look at it, the call itself fails with the sentence.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

import grpc

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.machine import Machine
from labkit.fpga.board.services import malformed

CHUNK = 2 * 2**20  # bytes of one message of a stream, as pynq sends them
MOST_MESSAGES = 4096  # of one stream from a client


class Service:
    """A service of a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine


def answered(answer: Callable[..., Any] | None = None) -> Callable:
    """Runs a method under the machine's lock; the last argument of a call is gRPC's context.

    answer   the class of the answer whose `msg` takes an error; without one the call fails
    """

    def decorate(method: Callable) -> Callable:
        @wraps(method)
        def wrapped(self: Service, *arguments: Any) -> Any:
            *given, context = arguments
            malformed.refuse(given[0], context)
            try:
                with self.machine.lock:
                    self.machine.refuse_stopped()
                    return method(self, *given)
            except BoardError as error:
                if answer:
                    return answer(msg=str(error))
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, str(error))

        return wrapped

    return decorate


def bounded(messages: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
    """The messages of a client's stream; the call fails when there are too many."""
    for count, message in enumerate(messages):
        if count == MOST_MESSAGES:
            sentence = f"A stream to the board has at most {MOST_MESSAGES:,} messages."
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, sentence)
        malformed.refuse(message, context)
        yield message
