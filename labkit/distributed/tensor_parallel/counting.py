"""Every collective and message of PyTorch's that a rank really begins, with its bytes.

    with counted_calls() as calls:
        loss_of(model(inputs), targets).backward()
    calls                                   # list of CommunicationCall

It stands where PyTorch dispatches its operators, below `torch.distributed` and below DTensor alike,
and so it sees what is sent and not what somebody meant to send.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NAMESPACES = ("c10d", "_c10d_functional", "_c10d_functional_autograd")
NOTHING_GIVEN = (
    *("wait_tensor", "_wrap_tensor_autograd", "check_for_nan"),
    *("recv", "recv_any_source", "irecv", "barrier", "monitored_barrier"),
)
NAMES = {  # c10d's own, where they differ from those of torch.distributed's functions
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "allgather_into_tensor_coalesced": "all_gather_into_tensor",
}


@dataclass(frozen=True)
class CommunicationCall:
    """One call of a collective, or one send.

    name      "all_reduce" and so on, the same for `torch.distributed` and for DTensor
    bytes     of the tensors that this rank gives to it
    backward  whether autograd was running a backward
    """

    name: str
    bytes: int
    backward: bool


@contextmanager
def counted_calls() -> Iterator[list[CommunicationCall]]:
    """A list of this rank's calls in the `with` block, in their order; of this thread alone."""
    calls: list[CommunicationCall] = []
    with _Counter(calls):
        yield calls


class _Counter(TorchDispatchMode):
    def __init__(self, calls: list[CommunicationCall]) -> None:
        super().__init__()
        self.calls = calls

    def __torch_dispatch__(
        self, operator: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        name = operator._opname.rstrip("_")  # allreduce_, which works in place
        if operator.namespace in NAMESPACES and name not in NOTHING_GIVEN:
            backward = torch._C._current_graph_task_id() != -1
            size = _bytes(_given(operator, args))
            self.calls.append(CommunicationCall(NAMES.get(name, name), size, backward))
        return operator(*args, **(kwargs or {}))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: skipping loads PyTorch's compiler, a second's work, and nothing is compiled here."""
        return False


def _given(operator: Any, args: tuple) -> Any:
    """The tensors that this rank gives: where there is an output argument, it comes first."""
    second = operator._schema.arguments[1].name
    return args[1 if second.startswith("input") else 0]


def _bytes(given: Any) -> int:
    tensors = [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)
