"""What PyTorch's own parallel classes send: each collective that one process calls, with its bytes.

    with CollectiveCalls() as calls:
        loss.backward()
    calls.total                         # {"all_gather": Total(calls=14, sent=...), ...}

PyTorch hands every operation to a mode on its way (TorchDispatchMode), collectives included, those
of hooks in backward too. What each rank sends follows from the tensor's bytes S and the group's
size n, if the collective goes around a ring: (n - 1) / n S for a gather and for a reduce-scatter,
twice that for an all-reduce. With `recorded()` our own collectives are counted message by message.
"""

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.utils._python_dispatch import TorchDispatchMode

NAMES = {  # of PyTorch's operations
    "c10d::allreduce_": "all_reduce",
    "c10d::_allgather_base_": "all_gather",
    "c10d::_reduce_scatter_base_": "reduce_scatter",
    "c10d::broadcast_": "broadcast",
    "_c10d_functional::all_reduce": "all_reduce",
    "_c10d_functional::all_gather_into_tensor": "all_gather",
    "_c10d_functional::reduce_scatter_tensor": "reduce_scatter",
}
ROUNDS = {"all_reduce": 2, "all_gather": 1, "reduce_scatter": 1, "broadcast": 1}


@dataclass(frozen=True)
class Call:
    """One collective.

    bytes   of the whole tensor: what a gather ends with, what a reduction begins with
    ranks   of the group that calls it
    """

    name: str
    bytes: int
    ranks: int

    @property
    def sent(self) -> Fraction:
        """Bytes that each rank sends around a ring."""
        return ROUNDS[self.name] * Fraction(self.ranks - 1, self.ranks) * self.bytes


@dataclass(frozen=True)
class Total:
    """How many calls there were, and what a rank sends in all of them."""

    calls: int
    sent: float


class CollectiveCalls(TorchDispatchMode):
    """A `with` block that writes down the collectives of this process."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None):
        """Called by PyTorch with every operation."""
        result = func(*args, **(kwargs or {}))
        name = func.name().partition(".")[0]
        if name in NAMES:
            self.calls.append(_call(NAMES[name], args, result))
        return result

    @property
    def total(self) -> dict[str, Total]:
        """Of each kind of collective, by its name."""
        kinds = defaultdict(list)
        for call in self.calls:
            kinds[call.name].append(call)
        return {name: Total(len(k), float(sum(c.sent for c in k))) for name, k in kinds.items()}

    @property
    def sent(self) -> float:
        """Bytes that a rank sends in all of them, around rings."""
        return float(sum(call.sent for call in self.calls))


def _call(name: str, args: tuple, result: Any) -> Call:
    """The largest tensor among arguments and result is the whole one."""
    tensors = [one for one in _flat((args, result)) if isinstance(one, torch.Tensor)]
    size = max(tensor.numel() * tensor.element_size() for tensor in tensors)
    return Call(name, size, _ranks_of(args))


def _ranks_of(args: tuple) -> int:
    """How many ranks the group among the arguments has."""
    for one in reversed(args):
        if isinstance(one, torch.ScriptObject) and "ProcessGroup" in str(one._type()):
            return dist.ProcessGroup.unbox(one).size()
        if isinstance(one, str) and one not in ("sum", "avg", "max", "min"):
            return _resolve_process_group(one).size()
    raise ValueError("A collective without a group.")


def _flat(value: Any) -> list:
    if isinstance(value, list | tuple):
        return [inner for one in value for inner in _flat(one)]
    return [value]
