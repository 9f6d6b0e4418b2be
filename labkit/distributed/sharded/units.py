"""A unit: the weights of one module as one flat vector, cut into a chunk for each rank.

    weights of a module      w0 w1 w2 | w3 w4            of one Linear(3, 1), say, and another
    flat, padded             w0 w1 w2 w3 w4 0            a multiple of the ranks long
    chunks of 2 ranks        w0 w1 w2 | w3 w4 0

The module's weights are views of the flat vector. To free it is to take the memory under them
away; to gather it is to give it back and to fill it. Gradients are copied into a flat vector of
the same form, as they become ready.
"""

from collections.abc import Callable

import torch
from torch import nn

from labkit.distributed.collectives import hand_around, reduce_scatter, ring_all_reduce
from labkit.distributed.network import transport


class Unit:
    """One module's weights, and this rank's shard of them; nothing travels when it is made.

    module   has weights of one dtype; every rank has the same values
    cut      what the optimizer of this rank owns: its chunk (True), or all of it (False)
    whole    the flat vector; shard: what the optimizer updates, a view of it
    ready    is called when the gradients of all its weights are there

    Raises ValueError for a module without weights, or with weights of several dtypes.
    """

    def __init__(self, module: nn.Module, cut: bool, ready: Callable[["Unit"], None]) -> None:
        self.rank, self.ranks = transport().place()
        self.module = module
        self.weights = list(module.parameters())
        self._refuse_wrong()
        self.places: dict[nn.Parameter, slice] = {}  # of each weight in the flat vector
        self.whole = self._flattened()
        self.shard = nn.Parameter(self._own(self.whole) if cut else self.whole)
        self.gradient: torch.Tensor | None = None  # flat, from the first weight's on
        self.missing = set(self.weights)
        self.ready = ready
        self.hooks = [w.register_post_accumulate_grad_hook(self._take) for w in self.weights]

    @property
    def here(self) -> bool:
        """Whether the whole unit's weights are in memory."""
        return self.whole.untyped_storage().nbytes() > 0

    def keep_own(self) -> None:
        """The shard gets memory of its own, and the rest is freed: the beginning of stage 3."""
        self.shard.data = self.shard.data.clone()
        self.free()

    def gather(self) -> None:
        """All ranks: the whole unit from everybody's shards, (n - 1) / n of its bytes each."""
        if not self.here:
            self.whole.untyped_storage().resize_(self.whole.numel() * self.whole.element_size())
        self._own(self.whole).copy_(self.shard.data)
        hand_around(list(self.whole.chunk(self.ranks)), self.rank, self.ranks)

    def free(self) -> None:
        """Takes the memory from under the weights; the shard stays."""
        self.whole.untyped_storage().resize_(0)

    def reduce_to_own(self) -> None:
        """All ranks: the shard's gradient is the mean over the ranks; the rest goes."""
        self.shard.grad = reduce_scatter(self._taken()) / self.ranks

    def reduce_to_all(self) -> None:
        """All ranks: the whole gradient is the mean over the ranks."""
        self.shard.grad = ring_all_reduce(self._taken()) / self.ranks

    def close(self) -> None:
        """Removes the hooks."""
        for hook in self.hooks:
            hook.remove()

    @torch.no_grad()
    def _flattened(self) -> torch.Tensor:
        """[a multiple of the ranks]; from now on the weights are views of it."""
        size = sum(weight.numel() for weight in self.weights)
        padding = -size % self.ranks
        whole = self.weights[0].new_zeros(size + padding)
        begin = 0
        for weight in self.weights:
            self.places[weight] = slice(begin, begin + weight.numel())
            begin += weight.numel()
            part = whole[self.places[weight]]
            part.copy_(weight.flatten())
            weight.data = part.view(weight.shape)
        return whole

    def _own(self, flat: torch.Tensor) -> torch.Tensor:
        """This rank's chunk, as a view."""
        return flat.chunk(self.ranks)[self.rank]

    def _take(self, weight: torch.Tensor) -> None:
        """Copies a gradient into the flat one as soon as it is ready."""
        if self.gradient is None:
            self.gradient = torch.zeros(self.whole.shape, dtype=self.whole.dtype)
        part = self.gradient[self.places[weight]].view(weight.shape)
        weight.grad = part.copy_(weight.grad)
        self.missing.discard(weight)
        if not self.missing:
            self.ready(self)

    def _taken(self) -> torch.Tensor:
        """The flat gradient, which is empty afterwards.

        Raises RuntimeError where a weight has none: the other ranks would wait without end.
        """
        if self.missing:
            raise RuntimeError(
                f"{type(self.module).__name__}: {len(self.missing)} of {len(self.weights)} "
                "weights have no gradient. Every weight takes part in every step."
            )
        gradient = self.gradient
        self.gradient = None
        for weight in self.weights:
            weight.grad = None
        self.missing = set(self.weights)
        return gradient

    def _refuse_wrong(self) -> None:
        name = type(self.module).__name__
        if not self.weights:
            raise ValueError(f"A unit needs weights, and {name} has none.")
        if len({weight.dtype for weight in self.weights}) > 1:
            raise ValueError(f"A unit's weights are of one dtype; {name} has several.")
