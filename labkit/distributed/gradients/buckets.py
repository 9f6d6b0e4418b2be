"""Buckets: which gradients travel together.

    assign([4, 8, 8, 2], most=10)          # [[3, 2], [1], [0]]

An all-reduce has a price for each call and one for each byte. One call for each weight pays the
first too often; one call for all of them has to wait for the last gradient. A bucket is between
the two. Backward ends with the first layer, so that buckets are filled from the last weight on.
Lesson overlap_and_buckets.
"""

from collections.abc import Hashable, Sequence

MOST = 25 << 20  # bytes, as in DistributedDataParallel
FIRST = 1 << 20  # of the first bucket: a small one is full early, and the link begins to work


def assign(
    sizes: Sequence[int],
    most: int = MOST,
    first: int | None = None,
    kinds: Sequence[Hashable] | None = None,
) -> list[list[int]]:
    """Which weights are in which bucket: their places in `sizes`, last weight first.

    sizes   bytes of each weight's gradient, in the model's order
    most    bytes in a bucket; a gradient that alone has more is a bucket of its own
    first   the same for the first bucket; at most `most`, which it is by default
    kinds   what cannot share a bucket, such as dtypes: a change from one to the next ends a bucket

    DistributedDataParallel closes a bucket when it has reached the limit, and so goes beyond it.
    Raises ValueError for sizes or limits that are none.
    """
    first = most if first is None else min(first, most)
    kinds = [None] * len(sizes) if kinds is None else kinds
    _refuse_wrong(sizes, first, kinds)
    buckets: list[list[int]] = []
    filled = 0  # bytes in the last bucket
    for place in reversed(range(len(sizes))):
        limit = first if len(buckets) == 1 else most
        fits = filled + sizes[place] <= limit
        if buckets and fits and kinds[buckets[-1][-1]] == kinds[place]:
            buckets[-1].append(place)
            filled += sizes[place]
        else:
            buckets.append([place])
            filled = sizes[place]
    return buckets


def _refuse_wrong(sizes: Sequence[int], least: int, kinds: Sequence[Hashable]) -> None:
    if least < 1:
        raise ValueError(f"assign: a bucket of {least} bytes holds nothing; take at least 1.")
    if any(size < 0 for size in sizes):
        raise ValueError(f"assign: {min(sizes)} bytes is no size of a gradient.")
    if len(kinds) != len(sizes):
        raise ValueError(
            f"assign: {len(sizes)} sizes have {len(kinds)} kinds; it has to be one each."
        )
