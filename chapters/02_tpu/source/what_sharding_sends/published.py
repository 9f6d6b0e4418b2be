"""What is published about the links between TPU v5e chips (ICI). Lesson what_sharding_sends.

FIGURES   bandwidths of a v5e, by several sources: in their words, and one way of a chip
PROFILE   how long a real v5e took for an all-gather, by How to Scale Your Model, chapter 3

A v5e has four links, to four neighbours. Read in November 2026; the sources give no date of their
own, except the book, whose chapters are of February 2025.
"""

from dataclasses import replace
from typing import NamedTuple

from labkit.hardware import machine
from labkit.provenance import Quantity, published

LINKS = 4  # of a chip
LINKS_OF_A_GROUP = {4: 2, 2: 1}  # used by each of so many chips on 2 x 2: no link leads around


class Figure(NamedTuple):
    """A published bandwidth: whose, in which words, and what it is for one chip and one way."""

    source: str
    kind: str
    words: str
    one_way: Quantity  # B/s, all links of a chip


_OLD = "https://cloud.google.com/tpu/docs/v5e"
_BOOK = "https://jax-ml.github.io/scaling-book"
FIGURES = [
    Figure(
        "Google, TPU v5e, older copies",
        "documentation",
        "interchip interconnect 1600 Gbps",
        published(1600e9 / 8, "B/s", f"Google Cloud TPU v5e documentation, older copies of {_OLD}"),
    ),
    Figure(
        "Google, TPU v5e, newer copies",
        "documentation",
        "400 GBps bidirectional, per chip",
        replace(machine("tpu_v5e").ici, value=float(machine("tpu_v5e").ici) / 2),
    ),
    Figure(
        "How to Scale Your Model, ch. 2",
        "book",
        "5e10 bytes/s per link, one way",
        published(LINKS * 5e10, "B/s", f"How to Scale Your Model, chapter 2, {_BOOK}/tpus/"),
    ),
    Figure(
        "How to Scale Your Model, ch. 3",
        "book",
        "4.5e10 bytes/s, unidirectional",
        published(LINKS * 4.5e10, "B/s", f"How to Scale Your Model, chapter 3, {_BOOK}/sharding/"),
    ),
]


class Gather(NamedTuple):
    """An all-gather over four chips in a row: bytes of its result, and how long it took."""

    result: int
    seconds: Quantity


PROFILE = Gather(  # bfloat16[2048, 8192] on an axis of 4 in a v5e slice of 8 x 4
    2048 * 8192 * 2,
    published(680e-6, "s", f"How to Scale Your Model, chapter 3, {_BOOK}/sharding/, a profile"),
)
