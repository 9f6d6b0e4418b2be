"""Uneven inputs: a rank that has run out of batches goes along with the others' all-reduces.

    with model.join():                          # model = DataParallel(...)
        for images, labels in batches_of_this_rank:     # as many as this rank has
            ...
            model.finish()

Without it the others would wait for that rank without end. Before each step's buckets the ranks
that take part call the roll: an all-reduce of a vector with a 1 at each one's place. A rank that
has left the loop answers with zeros, and adds zeros to every bucket; it ends when nobody is on
the roll. Then all ranks get the weights of the last one that trained. What an optimiser remembers
is not handed on. The module must not communicate by itself (as `SynchronisedBatchNorm` does).
Lesson overlap_and_buckets.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.data_parallel import same_weights
from labkit.distributed.network import transport

if TYPE_CHECKING:
    import torch

    from labkit.distributed.gradients.reducer import Reducer


@contextmanager
def join(
    module: "torch.nn.Module", reducer: "Reducer", divide_by_initial_world_size: bool
) -> Iterator[None]:
    """The `with` block of `DataParallel.join`.

    In a step in which only m of n ranks take part, the sum of their m gradients is divided

    by n   as torch's Join does by default: all examples count alike over the epoch, and the
           last steps are smaller
    by m   with divide_by_initial_world_size=False: the mean of the gradients of that step, so that
           an example counts for more where ranks are few
    """
    rank, ranks = transport().place()
    reducer.roll = reducer.buckets[0].flat.new_zeros(ranks)
    reducer.roll[rank] = 1
    reducer.last_roll = None
    reducer.divisor = ranks if divide_by_initial_world_size else None
    try:
        yield
        _go_along(reducer)
    finally:
        reducer.roll = None
        reducer.divisor = ranks
    last = reducer.last_roll
    if last is not None and not bool(last.all()):
        same_weights(module, root=int(last.nonzero().max()))


def _go_along(reducer: "Reducer") -> None:
    """Adds zeros to the others' all-reduces, until nobody is on the roll."""
    while True:
        nobody = reducer.roll.new_zeros(reducer.roll.shape)
        roll = reducer.carrier.submit(nobody).wait()
        if not bool(roll.any()):
            return
        reducer.last_roll = roll
        zeros = [bucket.flat.new_zeros(bucket.flat.shape) for bucket in reducer.buckets]
        for handle in [reducer.carrier.submit(zero) for zero in zeros]:
            handle.wait()
