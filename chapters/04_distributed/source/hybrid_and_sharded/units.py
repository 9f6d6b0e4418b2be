"""A unit: weights that are gathered together, as one flat vector with a chunk for each rank.

    weights of a module      w0 w1 w2 | w3 w4            of one Linear(3, 1), say, and another
    flat, padded             w0 w1 w2 w3 w4 0            a multiple of the ranks long
    chunks of 2 ranks        w0 w1 w2 | w3 w4 0

A weight has two sides, each with data and gradient. Forward and backward see the whole weight, a
view of the flat vector; the optimiser sees this rank's part of it, a view of the rank's chunk (on
rank 1: nothing of the first weight, all of the second). To free a unit is to take the memory from
under the whole side; to gather it is to give it back and to fill it from everybody's chunks.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from labkit.distributed.collectives import (
    all_gather,
    hand_around,
    reduce_scatter,
    ring_all_reduce,
)
from labkit.distributed.gradients.reducer import listed
from labkit.distributed.network import transport


class Unit:
    """Some weights, and this rank's part of them; nothing travels when it is made.

    weights         by name, one at least, of one dtype; every rank has the same values
    cut             whether each rank owns a chunk (True), or all of them everything
    frees           whether the whole side is in memory only while it is needed
    compute_dtype   of the whole side, and of what a gather sends; the weights' own by default

    Raises RuntimeError outside of a launch.
    """

    def __init__(
        self,
        weights: dict[str, nn.Parameter],
        cut: bool = True,
        frees: bool = False,
        compute_dtype: torch.dtype | None = None,
    ) -> None:
        self.rank, self.ranks = transport().place()
        self.chunk, self.chunks = (self.rank, self.ranks) if cut else (0, 1)
        self.weights = weights
        self.shapes = {name: weight.shape for name, weight in weights.items()}
        self.places, flat = self._flattened()
        self.whole = flat.to(compute_dtype or flat.dtype)
        own = flat.chunk(self.chunks)[self.chunk]
        self.own = own.clone() if frees or self.whole is not flat else own
        self.begin = self.chunk * len(self.own)  # of the chunk in the flat vector
        self.whole_side = self._parts(self.whole)  # views of memory that may be gone
        self.own_side = self._parts(self.own, self.begin)
        self.frees = frees
        self.here = True  # whether the weights show their whole side
        self.hidden: dict[str, torch.Tensor | None] = {}  # gradients of the side not shown
        self.gradient: torch.Tensor | None = None  # flat and whole, of this rank's examples
        self.missing = set(weights)
        self.complete = False  # whether all gradients were there since the last `finish`
        self.spent = False  # whether the optimiser has stepped with this rank's part of gradients
        self.release()

    def gather(self) -> None:
        """All ranks: turns to the whole side; (n - 1) / n of its bytes from each rank."""
        if self.here:
            return
        self.here = True
        self._show(self.whole_side)
        if self.frees:
            self.whole.untyped_storage().resize_(self.whole.numel() * self.whole.element_size())
        chunks = list(self.whole.chunk(self.chunks))
        chunks[self.chunk].copy_(self.own)
        hand_around(chunks, self.chunk, self.chunks)

    def release(self) -> None:
        """Turns to this rank's part; the memory of the whole goes, if the unit frees it."""
        if self.here:
            self.here = False
            self._show(self.own_side)
        if self.frees:
            self.whole.untyped_storage().resize_(0)

    def cut_gradients(self) -> None:
        """Turns to this rank's part, with the same part of each gradient; nothing travels."""
        self.release()
        for name, weight in self.weights.items():
            whole = self.hidden[name]
            first = max(self.begin - self.places[name].start, 0)
            cut = None if whole is None else whole.flatten()[first : first + weight.numel()]
            weight.grad = None if whole is None else cut.view_as(weight)

    def collected(self) -> dict[str, torch.Tensor]:
        """All ranks: a copy of every weight in its own dtype, whole, by its name."""
        flat = torch.cat(all_gather(self.own)) if self.chunks > 1 else self.own.clone()
        return dict(zip(self.weights, self._parts(flat), strict=True))

    def collect(self, ready: Callable[["Unit"], None]) -> list[RemovableHandle]:
        """From now on takes each gradient, and calls `ready` when all are there; the hooks."""

        def take(name: str, _: torch.Tensor) -> None:
            self._take(name)
            self.missing.discard(name)
            if not self.missing:
                self.missing = set(self.weights)
                self.complete = True
                ready(self)

        hooks = []
        for name, weight in self.weights.items():
            hooks.append(weight.register_post_accumulate_grad_hook(partial(take, name)))
        return hooks

    def reduce(self) -> None:
        """All ranks: the mean over the ranks is added to this rank's part of each gradient."""
        total = reduce_scatter(self.gradient) if self.chunks > 1 else ring_all_reduce(self.gradient)
        total /= self.ranks
        self.gradient = None
        self.release()
        self.hidden.clear()  # the gradients of the whole side are views of the flat one
        parts = self._parts(total, self.begin)
        for weight, part in zip(self.weights.values(), parts, strict=True):
            begins = self.spent or weight.grad is None
            weight.grad = part if begins else weight.grad + part
        self.spent = False

    def refuse_missing(self) -> None:
        """Raises RuntimeError where a weight has no gradient: the other ranks would wait for it."""
        if self.complete and len(self.missing) == len(self.weights):
            return
        missing = [name for name in self.weights if name in self.missing]
        raise RuntimeError(
            f"The loss does not depend on {listed(missing)}: no gradient became ready. Every "
            "weight takes part in every step, or has requires_grad=False on all ranks before "
            "Sharded is made."
        )

    def _parts(self, flat: torch.Tensor, begin: int = 0) -> list[torch.Tensor]:
        """Views of what lies in `flat`, from number `begin` on, of each weight.

        The whole of a weight has its shape, a part of it is flat.
        """
        parts = []
        for name, shape in self.shapes.items():
            place = self.places[name]
            low, high = (min(max(edge - begin, 0), len(flat)) for edge in (place.start, place.stop))
            part = flat[low:high]
            parts.append(part.view(shape) if part.numel() == shape.numel() else part)
        return parts

    def _show(self, side: list[torch.Tensor]) -> None:
        """Turns each weight to a side; the gradient of the other one waits until it is back."""
        for (name, weight), data in zip(self.weights.items(), side, strict=True):
            gradient, weight.grad = weight.grad, None
            weight.data = data
            weight.grad = self.hidden.pop(name, None)
            self.hidden[name] = gradient

    def _take(self, name: str) -> None:
        """Puts a gradient into the flat one as soon as it is ready."""
        if self.gradient is None:
            self.gradient = self.own.new_zeros(self.whole.shape)
        weight = self.weights[name]
        part = self.gradient[self.places[name]].view(weight.shape)
        if part.dtype == weight.dtype:
            weight.grad = part.copy_(weight.grad)  # autograd adds the next backward's to it
        else:
            part += weight.grad
            weight.grad = None

    def _flattened(self) -> tuple[dict[str, slice], torch.Tensor]:
        """The place of each weight, and a copy of all in one vector, zeros at its end."""
        places, end = {}, 0
        for name, weight in self.weights.items():
            places[name] = slice(end, end + weight.numel())
            end += weight.numel()
        flat = torch.cat([weight.detach().flatten() for weight in self.weights.values()])
        return places, torch.cat([flat, flat.new_zeros(-end % self.chunks)])
