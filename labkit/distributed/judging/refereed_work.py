"""An operation that a rank has begun at the referee, as torch.distributed's `Work`."""

from collections.abc import Callable
from typing import Any

import torch

from labkit.distributed.connections.tensor_bytes import bytes_of, dtype_name
from labkit.distributed.judging.referee_line import RefereeLine

_line: RefereeLine | None = None  # there is one for each process


def line() -> RefereeLine:
    """This process's line to the referee."""
    return _line


def connect(new: RefereeLine) -> None:
    """From now on, this is the process's line."""
    global _line
    _line = new


class Work:
    """An operation that was begun: what torch.distributed's asynchronous calls give back."""

    def __init__(self, number: int, name: str, given: torch.Tensor | None, finish: Callable):
        self._number = number
        self._name = name
        self._given = given
        self._before = bytes_of(given) if given is not None else b""
        self._finish = finish
        self._done = False
        self.result: Any = None

    def wait(self, timeout: object = None) -> bool:
        """Returns when the operation is done; what it receives is in its tensor then."""
        if not self._done:
            done = line().wait(self._number)
            self._done = True
            self._refuse_changed()
            self.result = self._finish(done)
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        if not self._done and line().test(self._number):
            self.wait()
        return self._done

    def is_success(self) -> bool:
        """Whether it is done; it cannot fail."""
        return self._done

    def _refuse_changed(self) -> None:
        if self._given is not None and bytes_of(self._given) != self._before:
            raise RuntimeError(
                f"The tensor of {self._name} was changed before wait(): until then its memory is "
                "being read, and nobody knows which of the two values is used. (`exchange` begins "
                "an isend, too: what leaves and what arrives there need memory of their own.)"
            )


def about(tensor: torch.Tensor) -> dict[str, Any]:
    """What the other side has to agree with."""
    return {
        "dtype": dtype_name(tensor),
        "shape": tuple(tensor.shape),
        "size": tensor.numel() * tensor.element_size(),
    }


def contiguous(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor itself; raises TypeError or ValueError where torch would."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"A tensor is needed, not a value of type {type(tensor).__name__}.")
    if not tensor.is_contiguous():
        raise ValueError("Tensors must be contiguous: take x.contiguous().")
    return tensor


def whole(group: object) -> None:
    """Raises NotImplementedError for any group but that of all ranks."""
    if group is not None:
        raise NotImplementedError("In a check, all ranks are one group: leave `group` out.")


def root_of(rank: int | None, other: int | None, group: object) -> int:
    """The rank that is meant; ValueError if there is none of that number."""
    whole(group)
    root = other if rank is None else rank
    if root is None:
        raise ValueError("Which rank? src or dst is needed.")
    if not 0 <= root < line().ranks:
        raise ValueError(f"There is no rank {root}: there are {line().ranks}, counted from 0.")
    return int(root)


def other_rank(rank: int | None, other: int | None, group: object) -> int:
    """The same, of another rank than this one."""
    found = root_of(rank, other, group)
    if found == line().rank:
        raise ValueError(f"Rank {found} cannot send to itself, nor receive from itself.")
    return found
