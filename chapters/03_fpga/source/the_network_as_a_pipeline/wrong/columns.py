"""The oracle of `fpga.columns`, and wrong ideas: x [images, D], w [K, D] int8 -> [images * K].

Dense: each wrong idea is what a slip in the circuit makes of the numbers, in one formula.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import by_own_name


def sums(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sums of each image, without loss."""
    return (x.astype(np.int64) @ w.T.astype(np.int64)).ravel()


def never_cleared(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The sums of an image go on from those of the one before."""
    return np.cumsum(sums(x, w).reshape(len(x), -1), axis=0).ravel()


def always_cleared(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The last product alone."""
    return sums(x[:, -1:], w[:, -1:])


def first_lost(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The product of the first value is not added."""
    return sums(x[:, 1:], w[:, 1:])


def last_lost(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The product of the last value is not added."""
    return sums(x[:, :-1], w[:, :-1])


def sum_before(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """What the memory held: without the last product; of one value, the sum of the image before."""
    if x.shape[1] > 1:
        return last_lost(x, w)
    return np.append(np.zeros(len(w), np.int64), sums(x[:-1], w))


def in_8_bits(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Each product wraps round in 8 bits."""
    return narrowed(x, w, np.int8)


def narrowed(x: np.ndarray, w: np.ndarray, kind: type) -> np.ndarray:
    """Each product becomes this kind of number before it is added."""
    terms = (x.astype(np.int64)[:, None] * w.astype(np.int64)).astype(kind)
    return terms.sum(axis=2, dtype=np.int64).ravel()


def cut(numbers: np.ndarray, bits: int) -> np.ndarray:
    """The last bits of whole numbers, the first of which is a sign."""
    return (numbers + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def sums_of(bits: int) -> Callable:
    """The memory's sums wrap round in so many bits; what comes out does not."""
    return lambda x, w: cut(last_lost(x, w), bits) + always_cleared(x, w)


def kept(x: np.ndarray, w: np.ndarray, places: int) -> np.ndarray:
    """So many sums are kept: output k has that in the place k % places."""
    held, found = np.zeros(places, np.int64), []
    for image in x.astype(np.int64):
        for d, value in enumerate(image):
            for k, weight in enumerate(w[:, d]):
                held[k % places] = (held[k % places] if d else 0) + value * weight
                if d == len(image) - 1:
                    found.append(held[k % places])
    return np.array(found)


def one_sum(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """One register for the sums of all outputs: each goes on from its neighbour's."""
    terms = x.astype(np.int64)[:, :, None] * w.T.astype(np.int64)
    terms[:, 0, :-1] = 0  # while the first value is there, each product takes the place of the sum
    flat = terms.reshape(len(x), -1)
    return np.cumsum(flat, axis=1)[:, -len(w) :].ravel()


def turned_round(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """With the first value a sum goes on from the image before, and otherwise it begins at 0."""
    return never_cleared(x, w) if x.shape[1] == 1 else always_cleared(x, w)


def last_output_alone(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Only the sum of the last output is kept; of the others, the last product comes."""
    found = always_cleared(x, w).reshape(len(x), -1)
    found[:, -1] = sums(x, w).reshape(len(x), -1)[:, -1]
    return found.ravel()


def every_step(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """A word comes out for each weight: as many of them as there are sums."""
    terms = x.astype(np.int64)[:, :, None] * w.T.astype(np.int64)
    return np.cumsum(terms, axis=1).ravel()[: len(x) * len(w)]


def no_signs(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The bytes are taken for numbers from 0 to 255."""
    return (x.view(np.uint8).astype(np.int64) @ w.view(np.uint8).T.astype(np.int64)).ravel()


WRONG = {
    **by_own_name(never_cleared, always_cleared, first_lost, last_lost, sum_before, in_8_bits),
    "unsigned_bytes": lambda x, w: narrowed(x, w, np.uint8),
    "unsigned_products": lambda x, w: narrowed(x, w, np.uint16),
    **{f"memory_of_{n}_bits": sums_of(n) for n in (16, 20, 24)},
    **{f"in_{n}_bits": lambda x, w, n=n: cut(sums(x, w), n) for n in (16, 20, 24)},
    "one_sum": one_sum,
    **{f"{n}_sums": lambda x, w, n=n: kept(x, w, n) for n in (2, 16, 64, 128)},
    "turned_round": turned_round,
    "last_output_alone": last_output_alone,
    "no_signs": no_signs,
    "first_alone": lambda x, w: sums(x[:, :1], w[:, :1]),
    "every_step": every_step,
    "added": lambda x, w: sums(x, np.ones_like(w)) + sums(np.ones_like(x), w),
}
