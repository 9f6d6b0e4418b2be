"""A picture of a multiprocessor's clock: passes of shared memory, and what they let it multiply."""

from __future__ import annotations

from typing import NamedTuple

from labkit.figures.shapes import key, write
from labkit.figures.style import BLUE, CARD, INK, PALE, SKY, Axes, canvas, show

SLOTS = 4  # parts of a multiprocessor: each starts one warp's multiply-adds in a clock, and a warp
# stays in its part (CUDA C++ Programming Guide, compute capability 8.x)
OF_A = SKY
OF_B = "#f6d7ae"


class Schedule(NamedTuple):
    """Who is served when: the warp's number by clock, and by (slot, clock)."""

    passes: dict[int, int]
    multiply_adds: dict[tuple[int, int], int]


def schedule(rows: int, columns: int, clocks: int) -> Schedule:
    """Warps read `rows` numbers of a and `columns` of b one after the other, a pass for each, and
    then do rows x columns multiply-adds, one in each clock, while the next warps read.

    Warp 0 has read before clock 0. Raises ValueError where the passes are not what limits.
    (Lesson tiles.)
    """
    reads = rows + columns
    work = rows * columns
    if work > SLOTS * reads:
        raise ValueError(
            f"{work} multiply-adds for {reads} passes keep all {SLOTS} slots busy: this picture "
            "shows what passes leave idle. Ask for fewer results of a thread."
        )
    passes = {}
    multiply_adds = {}
    for warp in range(-SLOTS, clocks // reads + 1):
        ready = warp * reads  # the clock in which the warp has all its numbers
        for clock in range(ready - reads, ready):
            if 0 <= clock < clocks:
                passes[clock] = warp
        slot = warp % SLOTS
        for clock in range(ready, ready + work):
            if 0 <= clock < clocks:
                multiply_adds[slot, clock] = warp
    return Schedule(passes, multiply_adds)


def clock_timeline(rows: int = 1, columns: int = 1, clocks: int = 16) -> None:
    """Clock by clock, the passes of shared memory and the multiply-adds that a multiprocessor of
    128 lanes starts, if each thread makes rows x columns results and does what its text says.

    `clocks` is a multiple of rows + columns. A box has the number of its warp in it.
    (Lesson tiles.)
    """
    plan = schedule(rows, columns, clocks)
    figure, axes = canvas(7.5, 2.9)
    for clock in range(clocks):
        place = clock % (rows + columns)
        colour = OF_A if place < rows else OF_B
        warp = plan.passes.get(clock, "")
        _box(axes, clock, 0, warp, colour, INK)
        for slot in range(SLOTS):
            warp = plan.multiply_adds.get((slot, clock))
            is_busy = warp is not None
            name = warp if is_busy else ""
            colour = BLUE if is_busy else CARD
            _box(axes, clock, 1.5 + slot, name, colour, CARD)
    names = {0.5: "shared memory"}
    for slot in range(SLOTS):
        names[2.0 + slot] = f"part {slot}: warps {slot}, {slot + SLOTS}, ..."
    axes.set_yticks(list(names), list(names.values()))
    axes.set_xticks([clock + 0.5 for clock in range(clocks)], range(clocks))
    axes.set_xlabel("clock (the number in a box is a warp; warp 0 got its passes before clock 0)")
    axes.set_xlim(-0.1, clocks + 0.1)
    axes.set_ylim(5.6, -0.1)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    meanings = {
        "pass for a (one number for all lanes)": OF_A,
        "pass for b": OF_B,
        "multiply-adds": BLUE,
        "idle": CARD,
    }
    key(figure, 4, meanings, s=60, edgecolor=INK, linewidth=0.6)
    busy = len(plan.multiply_adds)
    possible = SLOTS * clocks
    said = f"In {clocks} clocks shared memory serves {len(plan.passes)} passes"
    show(figure, f"{said}, and the arithmetic starts {busy} of {possible} possible multiply-adds.")


def _box(axes: Axes, x: float, y: float, name: object, colour: str, ink: str) -> None:
    """A clock of one row, with the warp's number in it."""
    edge = PALE if colour == CARD else INK
    axes.broken_barh([(x, 1)], (y, 1), facecolor=colour, edgecolor=edge, linewidth=0.6)
    write(axes, x + 0.5, y + 0.5, name, 8, color=ink)
