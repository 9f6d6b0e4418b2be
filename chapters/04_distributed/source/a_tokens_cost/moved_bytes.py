"""The bytes that every operation of PyTorch moves, counted by one rule, and what they belong to.

    with moved_bytes(model, cache) as moved:
        read(model, token, cache)
    moved.by_kind        # bytes of "weights", "cache read", "cache written", and "the rest"
    moved.by_operation   # bytes of "addmm", "bmm" and so on

The rule: each operation reads each of its tensors once and writes its result once. So

    a view, such as a transpose or a slice, moves nothing;
    a look-up in a table (`embedding`) reads as many numbers as it returns;
    what writes into a tensor that is there (`copy_`) does not read it before;
    memory that is only set aside (`empty`) is not written.

A machine whose caches keep results between operations, or that fuses operations, moves less. What
an operation reads more than once, moves more. (Lesson a_tokens_cost.)
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from labkit_lessons.distributed.a_tokens_cost.cache import Cache

WEIGHTS = "weights"
CACHE_READ = "cache read"
CACHE_WRITTEN = "cache written"
REST = "the rest"  # activations: what one operation hands on to the next
KINDS = (WEIGHTS, CACHE_READ, CACHE_WRITTEN, REST)

ONLY_SET_ASIDE = ("empty", "new_empty", "empty_like", "empty_strided", "new_empty_strided")
LOOK_UPS = ("embedding",)
OVERWRITES = ("copy_", "fill_", "zero_")


class MovedBytes(TorchDispatchMode):
    """The count of one block; see the module's text. `moved_bytes` makes it."""

    def __init__(self, model: nn.Module | None, cache: Cache | None) -> None:
        super().__init__()
        self.by_kind = dict.fromkeys(KINDS, 0)
        self.by_operation: dict[str, int] = {}
        self.operations = 0  # that moved something
        buffers = [*cache.keys, *cache.values] if cache else []
        self._weights = {_place(weight) for weight in model.parameters()} if model else set()
        self._cache = {_place(buffer) for buffer in buffers}

    @property
    def total(self) -> int:
        """Bytes of all kinds."""
        return sum(self.by_kind.values())

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Runs an operation and counts what it moved."""
        result = operation(*args, **(kwargs or {}))
        before = self.total
        self._count(operation, _tensors((args, kwargs)), _tensors(result))
        moved = self.total - before
        if moved:
            name = operation._opname
            self.operations += 1
            self.by_operation[name] = self.by_operation.get(name, 0) + moved
        return result

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: skipping loads PyTorch's compiler, a second's work, and nothing is compiled here."""
        return False

    def _count(
        self, operation: Any, given: list[torch.Tensor], results: list[torch.Tensor]
    ) -> None:
        name = operation._opname
        places = {_place(tensor) for tensor in given}
        is_view = not operation._schema.is_mutable and any(_place(r) in places for r in results)
        if name in ONLY_SET_ASIDE or is_view:
            return
        if name in LOOK_UPS:
            self.by_kind[REST] += sum(result.nbytes for result in results)
            given = given[1:]  # without the table
        if name in OVERWRITES:
            given = given[1:]
        for tensor in given:
            self.by_kind[self._kind(tensor, CACHE_READ)] += tensor.nbytes
        for tensor in results:
            self.by_kind[self._kind(tensor, CACHE_WRITTEN)] += tensor.nbytes

    def _kind(self, tensor: torch.Tensor, of_cache: str) -> str:
        if _place(tensor) in self._weights:
            return WEIGHTS
        return of_cache if _place(tensor) in self._cache else REST


@contextmanager
def moved_bytes(model: nn.Module | None = None, cache: Cache | None = None) -> Iterator[MovedBytes]:
    """Count the bytes that the operations of a `with` block move, on this thread.

    The weights are those of the model, the cache's tensors those of the cache; without them, all
    bytes are "the rest".
    """
    moved = MovedBytes(model, cache)
    with moved:
        yield moved


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _place(tensor: torch.Tensor) -> int:
    """The same for all views of one storage."""
    return tensor.untyped_storage()._cdata
