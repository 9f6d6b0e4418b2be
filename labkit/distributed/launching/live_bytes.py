"""Live bytes: how much memory a rank's tensors take, now and at their peak, counted exactly.

    with counted_bytes(model, optimizer) as memory:
        loss_of(model(inputs), targets).backward()
    memory.now            # bytes that live at the end
    memory.peak           # the most that lived at one moment
    memory.by_kind()      # now:         {"parameters": ..., "gradients": ..., ...}
    memory.at_peak        # at the peak: the same kinds, which add up to memory.peak

What counts is a storage, the block of memory behind a tensor: views of it are the same storage, so
it counts once, from the operation that made it until the last tensor that needs it is gone. A
dispatch mode sees every operation of PyTorch, those of the backward too, and a weak reference tells
when a storage dies. The threads of gloo get time to let go of what they have carried (`carriers`).
So on Linux the numbers are the same on every run, however busy the machine is.

What does not count: tensors older than the block that belong to neither the model nor the
optimizer (a data set), what an operation uses within itself, memory of NumPy, and what Python's
other threads make.
"""

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import (
    TorchDispatchMode,
    is_traceable_wrapper_subclass,
    is_traceable_wrapper_subclass_type,
)
from torch.utils._pytree import tree_leaves

from labkit.distributed.launching.carriers import let_go

PARAMETERS = "parameters"  # and buffers
GRADIENTS = "gradients"  # those of parameters
STATE = "optimizer state"
ACTIVATIONS = "activations"  # all the rest: what backward will need, and what is on its way
KINDS = (PARAMETERS, GRADIENTS, STATE, ACTIVATIONS)


@dataclass
class _Block:
    """A live storage: its bytes, its kind, and the reference whose callback reports its end."""

    bytes: int
    kind: str
    reference: weakref.ref | None  # None when counting has stopped
    travelled: bool = False  # given to a collective, whose thread may hold it a moment longer


class LiveBytes(TorchDispatchMode):
    """The count of one block; see the module's text. `counted_bytes` makes it."""

    def __init__(self, model: nn.Module | None, optimizer: torch.optim.Optimizer | None) -> None:
        super().__init__()
        self.peak = 0
        self.at_peak = dict.fromkeys(KINDS, 0)
        self.peak_activations = 0
        self._model = model
        self._optimizer = optimizer
        self._blocks: dict[int, _Block] = {}
        self._sort()
        self.look()

    @property
    def now(self) -> int:
        """Bytes that live at this moment; after the block, those that lived at its end."""
        return sum(self.by_kind().values())

    def by_kind(self) -> dict[str, int]:
        """The same bytes by KINDS."""
        self._sort()
        self._settle()
        return self._sums()

    def __torch_dispatch__(
        self, operation: Any, types: Iterable[type], args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Runs an operation and counts what it made."""
        if any(is_traceable_wrapper_subclass_type(kind) for kind in types):
            return NotImplemented  # a DTensor: it calls operations on its local tensor, seen here
        older = {id(storage) for storage in _storages((args, kwargs))}
        result = operation(*args, **(kwargs or {}))
        for storage in _storages(result):
            if id(storage) in self._blocks or id(storage) not in older:
                self._count(storage)
        if "c10d" in operation.namespace:
            self._mark_travelled((args, kwargs, result))
        self.look()
        return result

    def resized(self, storage: torch.UntypedStorage) -> None:
        """A storage has another size now; FSDP frees and refills its parameters in this way."""
        self._count(storage)
        self.look()

    def look(self) -> None:
        """Note the peaks, if this moment is one."""
        sums = self._sums()
        if sum(sums.values()) <= self.peak and sums[ACTIVATIONS] <= self.peak_activations:
            return
        sums = self.by_kind()
        self.peak_activations = max(self.peak_activations, sums[ACTIVATIONS])
        if sum(sums.values()) > self.peak:
            self.peak = sum(sums.values())
            self.at_peak = sums

    def stop(self) -> None:
        """From here on the numbers stay as they are."""
        self._sort()
        self._settle()
        self._model = None
        self._optimizer = None
        for block in self._blocks.values():
            block.reference = None
            block.travelled = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: skipping loads PyTorch's compiler, a second's work, and nothing is compiled here."""
        return False

    def _sums(self) -> dict[str, int]:
        sums = dict.fromkeys(KINDS, 0)
        for block in list(self._blocks.values()):
            sums[block.kind] += block.bytes
        return sums

    def _sort(self) -> None:
        """Give a kind to what has become a parameter, a gradient or a state since the last time."""
        for kind, storage in _kinds_of(self._model, self._optimizer):
            self._count(storage)
            self._blocks[id(storage)].kind = kind

    def _mark_travelled(self, tensors: Any) -> None:
        for storage in _storages(tensors):
            if id(storage) in self._blocks:
                self._blocks[id(storage)].travelled = True

    def _settle(self) -> None:
        """Let the threads that carry collectives drop what nobody else holds."""
        blocks = list(self._blocks.values())
        if any(block.travelled and block.kind == ACTIVATIONS for block in blocks):
            let_go()

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = id(storage)  # PyTorch keeps one object for each storage, as long as it lives
        if key in self._blocks:
            self._blocks[key].bytes = storage.nbytes()
        else:
            blocks = self._blocks  # not self: the reference would keep the model alive
            reference = weakref.ref(storage, lambda _: blocks.pop(key, None))
            blocks[key] = _Block(storage.nbytes(), ACTIVATIONS, reference)


@contextmanager
def counted_bytes(
    model: nn.Module | None = None, optimizer: torch.optim.Optimizer | None = None
) -> Iterator[LiveBytes]:
    """Count the bytes of live tensors within a `with` block, on this rank and thread.

    Besides `now`, `peak`, `by_kind()` and `at_peak`, the count has `peak_activations`: the most
    bytes of activations at one moment, which need not be the moment of the peak. Without a model
    everything is an activation; without an optimizer its state is.
    """
    memory = LiveBytes(model, optimizer)
    resize = torch.UntypedStorage.resize_  # the one change that no operation reports

    def resize_(storage: torch.UntypedStorage, size: int) -> Any:
        result = resize(storage, size)
        memory.resized(storage)
        return result

    torch.UntypedStorage.resize_ = resize_
    try:
        with memory:
            yield memory
    finally:
        torch.UntypedStorage.resize_ = resize
        memory.stop()


def bytes_of(model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> dict[str, int]:
    """Bytes of the parameters (and buffers), their gradients and the optimizer's state, by kind.

    Of a DTensor those of its local part, which is what this rank holds.
    """
    sums = dict.fromkeys((PARAMETERS, GRADIENTS, STATE), 0)
    seen = set()
    for kind, storage in _kinds_of(model, optimizer):
        if id(storage) not in seen:
            seen.add(id(storage))
            sums[kind] += storage.nbytes()
    return sums


def _kinds_of(
    model: nn.Module | None, optimizer: torch.optim.Optimizer | None
) -> Iterator[tuple[str, torch.UntypedStorage]]:
    """What the model and the optimizer hold at this moment: a kind, and a storage of that kind."""
    parameters = list(model.parameters()) if model else []
    buffers = list(model.buffers()) if model else []
    gradients = [parameter.grad for parameter in parameters]
    state = [list(values.values()) for values in optimizer.state.values()] if optimizer else []
    for kind, tensors in (
        (PARAMETERS, parameters + buffers),
        (GRADIENTS, gradients),
        (STATE, state),
    ):
        for storage in _storages(tensors):
            yield kind, storage


def _storages(tree: Any) -> Iterator[torch.UntypedStorage]:
    """The storages behind all tensors in nested lists, tuples and dicts."""
    for leaf in tree_leaves(tree):
        if is_traceable_wrapper_subclass(leaf):
            names, _ = leaf.__tensor_flatten__()
            yield from _storages([getattr(leaf, name) for name in names])
        elif isinstance(leaf, torch.Tensor):
            storage = leaf.untyped_storage()
            if storage.device.type != "meta":  # which has a size and no memory
                yield storage
