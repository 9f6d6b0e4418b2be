"""Which examples a rank reads: a shard of one shuffled order, as `DistributedSampler` deals it.

    sampler = ShardedSampler(len(images), rank, ranks)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)        # another order; without it every epoch has the same
        for index in sampler: ...

All ranks shuffle 0..size-1 with the same seed, and rank r takes every `ranks`-th index, from the
r-th on. So the shards share nothing, and no message is needed. Lesson data_parallel_by_hand.
"""

import math
from collections.abc import Iterator


class ShardedSampler:
    """This rank's indices into `size` examples, as many on every rank.

    shuffle     whether the order is drawn anew for each epoch, from seed + epoch
    drop_last   what to do where `ranks` does not divide `size`. False: indices from the beginning
                of the order are repeated until it does. True: the last ones are left out.

    The indices are those of `torch.utils.data.DistributedSampler`. Raises ValueError for numbers
    that are no place among ranks.
    """

    def __init__(
        self,
        size: int,
        rank: int,
        ranks: int,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        _refuse_wrong(size, rank, ranks)
        self.size = size
        self.rank = rank
        self.ranks = ranks
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Chooses the order of this epoch: call it on every rank before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        """How many indices each rank gets: size / ranks, rounded up, or down with drop_last."""
        if self.drop_last:
            return self.size // self.ranks
        return math.ceil(self.size / self.ranks)

    def __iter__(self) -> Iterator[int]:
        order = _fitted(self._order(), len(self) * self.ranks)
        return iter(order[self.rank :: self.ranks])

    def _order(self) -> list[int]:
        """All indices, in the same order on every rank."""
        import torch

        if not self.shuffle:
            return list(range(self.size))
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        return torch.randperm(self.size, generator=generator).tolist()


def _fitted(order: list[int], length: int) -> list[int]:
    """The order, cut or repeated from its beginning until it is that long."""
    if not order:
        return []
    repeats = math.ceil(length / len(order))
    return (order * repeats)[:length]


def _refuse_wrong(size: int, rank: int, ranks: int) -> None:
    for name, number in (("size", size), ("rank", rank), ("ranks", ranks)):
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"ShardedSampler: {name} is {number!r}; it has to be a whole number.")
    if size < 0:
        raise ValueError(f"ShardedSampler: size is {size}; it counts examples, from 0 on.")
    if ranks < 1:
        raise ValueError(f"ShardedSampler: ranks is {ranks}; there has to be at least 1.")
    if not 0 <= rank < ranks:
        raise ValueError(
            f"ShardedSampler: rank {rank} is not among {ranks} ranks, which are numbered from 0 "
            f"to {ranks - 1}."
        )
