"""What compiled programs exchange, and how long it takes at least. Lesson what_sharding_sends."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from labkit import figures
from labkit.hardware import machine
from labkit.provenance import Quantity, predicted
from labkit.tpu.compiler import Compiled
from labkit_lessons.tpu.what_sharding_sends.published import (
    FIGURES,
    LINKS,
    LINKS_OF_A_GROUP,
    PROFILE,
)

Sent = Callable[[str, np.ndarray, np.ndarray], np.ndarray]


def sent_of_each(made: Compiled, sent: Sent) -> list[float]:
    """The bytes that a chip sends for each of a program's collectives, by the function `sent`."""
    found = []
    for one in made.collectives:
        (bytes_,) = sent(one.kind, np.array([float(one.bytes)]), np.array([one.group]))
        found.append(float(bytes_))
    return found


def total(made: Compiled, sent: Sent) -> Quantity:
    """The bytes that a chip sends in a program, all collectives together, in MB."""
    return predicted(sum(sent_of_each(made, sent)) / 1e6, "MB", "the compiled bytes, in a ring")


def exchanges(
    programs: Mapping[str, Compiled], formulas: Mapping[str, Sequence[int]], sent: Sent
) -> None:
    """A table of the collectives of compiled programs.

    formulas   the bytes of each collective's result on a chip, by the shapes
    sent       ring_bytes of the lesson
    """
    rows = []
    for name, made in programs.items():
        expected = sorted(formulas[name])
        found = sorted(zip(made.collectives, sent_of_each(made, sent), strict=True), key=_bytes)
        if len(expected) != len(found):
            expected = [None] * len(found)
        for (one, ring), formula in zip(found, expected, strict=True):
            moved = predicted(ring / 1e6, "MB", "your ring_bytes")
            rows.append(
                [name, one.kind, one.group, one.bytes, formula, one.bytes == formula, moved]
            )
            name = ""
    heads = ["cut", "collective", "chips", "its result, B", "formula, B", "equal?", "a chip sends"]
    figures.table(heads, rows, "The bytes of the results are compiled, by libtpu.")


def _bytes(pair: tuple) -> int:
    return pair[0].bytes


def beside(ours: Mapping[str, Compiled], theirs: Mapping[str, Compiled], sent: Sent) -> None:
    """A table of programs by hand and by the compiler, with what each exchanges and sends."""
    rows = []
    for name in ours:
        both = [ours[name], theirs[name]]
        kinds = [" + ".join(sorted(one.kind for one in made.collectives)) for made in both]
        rows.append([name, *kinds, *(total(made, sent) for made in both)])
    heads = ["cut", "by hand", "the compiler's", "by hand, sent", "the compiler's, sent"]
    figures.table(heads, rows)


def links() -> None:
    """A table of the published bandwidths of a v5e's links."""
    rows = []
    for one in FIGURES:
        per_chip = float(one.one_way) / 1e9
        rows.append([one.source, one.kind, one.words, per_chip, per_chip / LINKS])
    heads = ["source", "kind", "its words", "a chip, one way, GB/s", "a link, one way, GB/s"]
    note = (
        "All published, of the TPU v5e, and read in November 2026; the book is of February 2025. "
        "The last two columns are the same figure, brought to one way: a chip has 4 links."
    )
    figures.table(heads, rows, note)


def ici_seconds(made: Compiled, sent: Sent) -> float:
    """How long a program's exchanges take at least on 2 x 2 chips, one after the other, at 50 GB/s.

    Four chips make two rings, one each way, over two links of each chip; a pair has one link.
    """
    per_link = float(FIGURES[0].one_way) / LINKS
    each = zip(made.collectives, sent_of_each(made, sent), strict=True)
    return sum(moved / (LINKS_OF_A_GROUP[one.group] * per_link) for one, moved in each)


def peak_seconds(B: int, D: int, F: int) -> float:
    """The five products of the step, 2 B D F FLOP each, on four v5e chips at their peak."""
    return 5 * 2 * B * D * F / 4 / float(machine("tpu_v5e").rate("bf16"))


def roofline(programs: Mapping[str, Compiled], sent: Sent, sizes: tuple[int, int, int]) -> None:
    """A table: what a step needs at least for its links, and for its arithmetic, for each cut."""
    rows = []
    for name, made in programs.items():
        (links,) = {LINKS_OF_A_GROUP[one.group] for one in made.collectives}
        ici, arithmetic = ici_seconds(made, sent), peak_seconds(*sizes)
        times = [
            predicted(ici, "s", "bytes over bandwidth"),
            predicted(arithmetic, "s", "FLOP over peak"),
        ]
        longer = "ICI" if ici > arithmetic else "arithmetic"
        rows.append([name, total(made, sent), links, *times, longer])
    heads = ["cut", "a chip sends", "links", "ICI at least", "arithmetic at least", "longer"]
    figures.table(heads, rows, "A link carries 50 GB/s one way; exchanges follow each other.")


def in_order(programs: Mapping[str, Compiled]) -> None:
    """A table: the products and exchanges of programs, in the order in which they run."""
    rows = [[name, ", ".join(_steps(made))] for name, made in programs.items()]
    note = (
        "Compiled, by libtpu. A product may hold two that were fused. What stands between the "
        "start and the end of an exchange runs beside it."
    )
    figures.table(["cut", "products and exchanges, in order"], rows, note)


def _steps(made: Compiled) -> Iterator[str]:
    exchanges = {one.kind for one in made.collectives}
    ends = (op for op in made.ops if op.name.startswith("async-collective-done"))
    for op in made.ops:
        if op.kind == "matmul":
            yield "product"
        elif op.kind in exchanges:
            yield op.kind
        elif op.name.startswith("async-collective-start"):
            kind = next(ends).layer.rpartition("/")[2].replace("_", "-")
            yield f"{kind} starts"
        elif op.name.startswith("async-collective-done"):
            yield f"{op.layer.rpartition('/')[2].replace('_', '-')} ends"


def beside_a_real_slice(sent: Sent) -> None:
    """A table: the all-gather whose time is published, and the predictions for it."""
    (moved,) = sent("all-gather", np.array([float(PROFILE.result)]), np.array([4]))
    rows = [["profile of a real v5e", PROFILE.seconds, None]]
    for per_link in (5e10, 4.5e10):
        seconds = moved / per_link
        off = f"{100 * (seconds / float(PROFILE.seconds) - 1):+.0f}"
        time = predicted(seconds, "s", "bytes over bandwidth")
        rows.append([f"{moved / 1e6:.1f} MB at {per_link / 1e9:g} GB/s", time, off])
    figures.table(["all-gather of 33.6 MB over four chips", "time", "off, %"], rows)
