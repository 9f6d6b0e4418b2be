"""Data parallel training with overlap: what `DistributedDataParallel` does, in plain Python.

    model = DataParallel(net)                       # all ranks: rank 0's weights
    for images, labels in batches_of_this_rank:
        model.zero_grad()
        cross_entropy(model(images), labels).backward()     # full buckets travel meanwhile
        model.finish()                              # every gradient: the mean over all ranks
        optimiser.step()

torch's own needs no `finish`: autograd calls back when a backward ends. Ours is told when it is
forgotten: the optimiser's step raises. And torch's hands out rank 0's buffers before every forward,
ours at the beginning only. Lesson overlap_and_buckets.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn

from labkit.distributed.data_parallel import same_weights
from labkit.distributed.gradients import buckets, joining
from labkit.distributed.gradients.asynchronous import BackendThreads, CommunicationThread
from labkit.distributed.gradients.before_steps import FORGOTTEN, before_steps
from labkit.distributed.gradients.reducer import Bucket, Reducer
from labkit.distributed.network import transport

if TYPE_CHECKING:
    from labkit.distributed.gradients.compression import Compressor

AllReduce = Callable[[torch.Tensor], torch.Tensor]


class DataParallel(nn.Module):
    """A module whose gradients become the means over all ranks, while its backward still runs.

    module         the same on every rank, in names, shapes and dtypes; its values become rank 0's
    bucket_bytes   the most that one all-reduce carries (`buckets.assign`)
    first_bytes    the same for the first bucket
    all_reduce     a function that returns the sum of a tensor over all ranks, such as
                   `ring_all_reduce`: a thread of this rank calls it. By default the backend's own
                   all-reduce, in the backend's own threads.
    compressors    one for each weight that is trained (`compression.for_model`), in place of
                   `all_reduce`: the buckets' gradients travel in a shorter form

    A thread and the rest of a rank must not send by the same means at the same time: with
    `all_reduce=ring_all_reduce`, keep `send` and `receive` out of forward and backward.
    Raises ValueError where the ranks' modules differ, or nothing is trained; RuntimeError outside
    of a launch.
    """

    def __init__(
        self,
        module: nn.Module,
        bucket_bytes: int = buckets.MOST,
        first_bytes: int = buckets.FIRST,
        all_reduce: AllReduce | None = None,
        compressors: "dict[str, Compressor] | None" = None,
    ) -> None:
        super().__init__()
        self.module = module
        weights = {name: w for name, w in module.named_parameters() if w.requires_grad}
        _, ranks = transport().place()
        _refuse_wrong(module, weights, ranks)
        same_weights(module)
        filled = _filled(weights, bucket_bytes, first_bytes)
        if compressors is not None:
            all_reduce = _compressed(filled, compressors, ranks)
        carrier = CommunicationThread(all_reduce) if all_reduce else BackendThreads()
        self.reducer = Reducer(filled, carrier, ranks)
        self.compressors = compressors
        self._synchronises = True
        self._hooks = [before_steps(self._refuse_unfinished, weights.values())]
        for name, weight in weights.items():
            hook = weight.register_post_accumulate_grad_hook(partial(self._ready, name))
            self._hooks.append(hook)

    def forward(self, *inputs: object, **named: object) -> object:
        """The module's own. Raises RuntimeError if `finish` was forgotten in the step before."""
        if torch.is_grad_enabled():
            self._refuse_unfinished()
        return self.module(*inputs, **named)

    def finish(self) -> None:
        """Waits until every gradient is the mean over all ranks.

        Raises RuntimeError, instead of waiting without end, where a weight has no gradient; and
        within `no_sync`.
        """
        if not self._synchronises:
            raise RuntimeError(
                "Within `no_sync()` nothing travels: call finish() after the last "
                "backward(), outside of it."
            )
        self.reducer.finish()

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A `with` block in which gradients add up on this rank, and nothing travels."""
        before = self._synchronises
        self._synchronises = False
        try:
            yield
        finally:
            self._synchronises = before

    def join(self, divide_by_initial_world_size: bool = True) -> AbstractContextManager[None]:
        """A `with` block for ranks with unlike numbers of batches; see `joining`.

        Raises RuntimeError with compressors, which a rank without a gradient cannot go along with.
        """
        if self.compressors is not None:
            raise RuntimeError("join(): without a batch, a rank has no gradients to compress.")
        return joining.join(self.module, self.reducer, divide_by_initial_world_size)

    def close(self) -> None:
        """Removes the hooks, and ends the thread: afterwards the module is on its own."""
        for hook in self._hooks:
            hook.remove()
        self.reducer.carrier.close()

    def _refuse_unfinished(self) -> None:
        if self.reducer.begun:
            raise RuntimeError(FORGOTTEN)

    def _ready(self, name: str, _: torch.Tensor) -> None:
        if self._synchronises:
            self.reducer.ready(name)


def _filled(weights: dict[str, torch.Tensor], most: int, first: int) -> list[Bucket]:
    names = list(weights)
    sizes = [weight.numel() * weight.element_size() for weight in weights.values()]
    kinds = [(weight.dtype, weight.device) for weight in weights.values()]
    places = buckets.assign(sizes, most, first, kinds)
    return [Bucket({names[place]: weights[names[place]] for place in row}) for row in places]


def _compressed(
    filled: list[Bucket], compressors: "dict[str, Compressor]", ranks: int
) -> AllReduce:
    """An all-reduce in which each gradient of a bucket is summed by its own compressor."""
    for name in (name for bucket in filled for name in bucket.weights):
        if name not in compressors:
            raise ValueError(f"DataParallel: {name} has no compressor; see compression.for_model.")

    def all_reduce(flat: torch.Tensor) -> torch.Tensor:
        (bucket,) = [bucket for bucket in filled if bucket.flat is flat]
        for name, part in bucket.places.items():  # of gradients that are divided by `ranks`
            part.copy_(compressors[name].average(ranks * part))
        return flat

    return all_reduce


def _refuse_wrong(module: nn.Module, weights: dict[str, torch.Tensor], ranks: int) -> None:
    if not weights:
        raise ValueError("DataParallel: no weight of the module is trained (requires_grad=True).")
    described = {}
    for name, tensor in (*module.named_parameters(), *module.named_buffers()):
        trained = ", trained" if name in weights else ""
        described[name] = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}{trained}"
    everywhere: list[dict[str, str]] = [{}] * ranks
    torch.distributed.all_gather_object(everywhere, described)
    for rank, other in enumerate(everywhere):
        for name in {**everywhere[0], **other}:
            here, there = everywhere[0].get(name, "absent"), other.get(name, "absent")
            if here != there:
                raise ValueError(
                    f"DataParallel: {name} is {here} on rank 0 and {there} on rank {rank}. All "
                    "ranks need the same module."
                )
