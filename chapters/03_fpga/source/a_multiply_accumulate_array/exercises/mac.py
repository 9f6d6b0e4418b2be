"""Exercise fpga.mac: products of signed bytes, added up packet by packet.

Dense: each wrong idea is what a slip in the circuit makes of the numbers, in one formula.
"""

from collections.abc import Callable, Iterable
from functools import wraps

import numpy as np

from labkit.checks.items import Case
from labkit.checks.lesson_files import by_own_name
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit_lessons.fpga.a_multiply_accumulate_array.exercises.shared import A_PIPELINE, int8
from labkit_lessons.fpga.a_multiply_accumulate_array.solutions import SOLUTIONS


def sums(products: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sum of each packet; `last` is 1 at its last product."""
    starts = np.flatnonzero(np.concatenate([[1], last[:-1]]))
    return np.add.reduceat(products.astype(np.int64), starts)


def products(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x * w, term by term, without loss."""
    return x.astype(np.int64) * w


def of_terms(found: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable:
    """found(products, last): an idea of what becomes of the right products [n]."""
    return wraps(found)(lambda x, w, last: found(products(x, w), last))


def mac_oracle(x, w, last):
    """x [n], w [n] int8, last [n] -> a sum for each packet."""
    return sums(products(x, w), last)


@of_terms
def never_cleared(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each sum goes on from the one before it."""
    return np.cumsum(terms)[last == 1]


@of_terms
def first_lost(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The first product of each packet is not added."""
    begins = np.concatenate([[1], last[:-1]])
    return sums(np.where(begins, 0, terms), last)


@of_terms
def last_lost(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last product of each packet is not added."""
    return sums(np.where(last, 0, terms), last)


@of_terms
def last_alone(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last product of each packet, and nothing else."""
    return terms[last == 1]


def no_signs(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The bytes are taken for numbers from 0 to 255."""
    return sums(products(x.view(np.uint8), w.view(np.uint8)), last)


def wrapped(bits: int) -> Callable:
    """The sums wrap round in so many bits."""
    half = 1 << bits - 1
    return lambda x, w, last: (mac_oracle(x, w, last) + half) % (2 * half) - half


@of_terms
def in_8_bits(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each product wraps round in 8 bits."""
    return sums(terms.astype(np.int8), last)


@of_terms
def unsigned_products(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each product loses its sign on the way to the sum."""
    return sums(terms.astype(np.uint16), last)


@of_terms
def in_twos(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A sum begins anew with every second term, wherever its packet ends."""
    before = np.append(0, terms[:-1]) * (np.arange(len(terms)) % 2)
    return (terms + before)[last == 1]


@of_terms
def first_alone(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The first product of each packet, and nothing else."""
    return terms[np.concatenate([[1], last[:-1]]) == 1]


@of_terms
def first_turned(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A sum begins anew behind each term but the last one of a packet."""
    found, total, first = [], 0, True
    for product, end in zip(terms, last, strict=True):
        total = product if first else total + product
        first = not end
        if end:
            found.append(total)
    return np.array(found)


@of_terms
def running(terms: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The sum of each packet so far, after each term."""
    total = np.cumsum(terms)
    starts = np.flatnonzero(np.concatenate([[1], last[:-1]]))
    before = np.append(0, total)[starts]
    return total - np.repeat(before, np.diff(np.append(starts, len(terms))))


def one_early(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Each sum is offered one clock edge before its last product is in it."""
    return np.append(0, running(x, w, last)[:-1])[last == 1]


def every_term(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """A word comes out for each term: as many of them as there are packets."""
    return running(x, w, last)[: int(last.sum())]


def added(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> np.ndarray:
    """x + w instead of x * w."""
    return sums(x.astype(np.int64) + w, last)


def mac_cases(rng: np.random.Generator) -> Iterable[Case]:
    """Packets of several lengths; one word each in some of them."""
    packets = {
        "one term": [1],
        "two terms": [2],
        "a packet of seven": [7],
        "three packets": [5, 1, 6],
        "the largest products": [1100],  # beyond 25 bits
        "many packets": [1, 1, 3, 1, 1, 1, 2, 17, 1, 1, 1, 23, 1, 2, 1, 1, 31],
        "one term again": [1],
    }
    for name, lengths in packets.items():
        n = sum(lengths)
        last = np.zeros(n, np.int8)
        last[np.cumsum(lengths) - 1] = 1
        x, w = int8(rng, n), int8(rng, n)
        if name.startswith("the largest"):
            x[:], w[:] = -128, np.where(np.arange(n) < 10, 127, -128)
        yield Case(name, (x, w, last))


def mac_drive(x: np.ndarray, w: np.ndarray, last: np.ndarray) -> Drive:
    """A word {w, x} for each term."""
    words = np.stack([x, w], axis=1)
    return Drive({"terms": words, "terms_last": last}, words={"y": int(last.sum())})


mac = rtl_exercise(
    "fpga.mac",
    top="mac",
    solution=SOLUTIONS["fpga.mac"],
    drive=mac_drive,
    cases=mac_cases,
    oracle=mac_oracle,
    wrong={
        **by_own_name(never_cleared, first_lost, last_lost, last_alone, no_signs),
        "in_16_bits": wrapped(16),
        "in_20_bits": wrapped(20),
        "in_24_bits": wrapped(24),
        "in_8_bits": in_8_bits,
        "unsigned_bytes": lambda x, w, last: sums(products(x, w).astype(np.uint8), last),
        **by_own_name(
            unsigned_products, in_twos, first_alone, first_turned, added, one_early, every_term
        ),
        "x_squared": lambda x, w, last: sums(products(x, x), last),
        "w_squared": lambda x, w, last: sums(products(w, w), last),
    },
    cycles=lambda x, w, last: len(x) + A_PIPELINE,
    keeps=1,
    early_ready=True,
    gates={"dsp": 1, "lut": 100, "ff": 100},
)
