"""In a check: all-reduces that a thread would carry are carried when somebody waits for one.

Same calls as `asynchronous.CommunicationThread`, and the same messages, but no thread: what a rank
does is then the same each time, and the referee knows when it waits.
"""

from typing import TYPE_CHECKING, Self

from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.gradients.asynchronous import AllReduce, Handle

if TYPE_CHECKING:
    import torch


class CarriedInTurn:
    """Carries what was submitted, in this order, as far as the handle that is waited for.

    all_reduce   takes a tensor and returns its sum over all ranks, in every rank
    """

    def __init__(self, all_reduce: AllReduce = ring_all_reduce) -> None:
        self._all_reduce = all_reduce
        self._waiting: list[HandleInTurn] = []
        self._error: BaseException | None = None
        self._closed = False

    def submit(self, tensor: "torch.Tensor") -> "HandleInTurn":
        """Hands a tensor over; raises RuntimeError after `close`."""
        if self._closed:
            raise RuntimeError("The communication thread is closed: submit before close().")
        handle = HandleInTurn(tensor, self)
        self._waiting.append(handle)
        return handle

    def carry_until(self, last: Handle | None) -> None:
        """Carries all up to a handle; None: everything."""
        while self._waiting and (last is None or last in self._waiting):
            handle = self._waiting.pop(0)
            self._error = handle.carry(self._all_reduce, self._error)

    def close(self) -> None:
        """Carries the rest."""
        self._closed = True
        self.carry_until(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class HandleInTurn(Handle):
    """An all-reduce that was submitted."""

    def __init__(self, tensor: "torch.Tensor", carrier: CarriedInTurn) -> None:
        super().__init__(tensor)
        self._carrier = carrier

    def wait(self) -> "torch.Tensor":
        """The sum over all ranks; raises what the all-reduce raised."""
        self._carrier.carry_until(self)
        return super().wait()
