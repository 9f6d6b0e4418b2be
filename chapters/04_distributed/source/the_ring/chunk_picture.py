"""A picture of the ring by hand: which chunk each rank sends in a step, and what it has afterwards.

    ring_by_hand(np.array([[1, 2, 3], [10, 20, 30], [100, 200, 300]]))

A row is a rank, a column is a chunk, here of a single number. The numbers are computed by the
steps themselves, without ranks. Lesson the_ring.

Dense: a call draws one shape, and its arguments are places.
"""

from dataclasses import dataclass

import numpy as np

from labkit.figures.shapes import arrow, bare, box, write
from labkit.figures.style import CARD, INK, ORANGE, PALE, SKY, Axes, canvas, show

MOST = 5  # ranks that can still be read


@dataclass(frozen=True)
class Stage:
    """What all ranks have before a step, and what they send in it.

    values    [ranks, chunks]
    leaving   for each rank the chunk that it sends to the next one; None after the last step
    finished  [ranks, chunks]: where the sum over all ranks stands
    """

    title: str
    values: np.ndarray
    leaving: list[int] | None
    finished: np.ndarray


def stages(values: np.ndarray) -> tuple[list[Stage], list[Stage]]:
    """The stages of reduce-scatter and of all-gather, from values[ranks, ranks].

    In step s = 1, 2, ... of reduce-scatter rank r sends chunk r - s, and adds what arrives; in
    step s of all-gather it sends chunk r - s + 1, and keeps what arrives.
    """
    ranks = len(values)
    if values.shape != (ranks, ranks) or not 2 <= ranks <= MOST:
        raise ValueError(f"The picture has 2 to {MOST} ranks with as many chunks each.")
    now = values.copy()
    total = values.sum(0)
    halves = ([], [])
    for number, half in enumerate(("reduce-scatter", "all-gather")):
        for step in range(1, ranks + 1):
            arrives = arriving(ranks, number * (ranks - 1) + step) if step < ranks else []
            leaving = [chunk for _, chunk in arrives[1:] + arrives[:1]] or None
            before = f"after step {step - 1}" if step > 1 else "before step 1"
            halves[number].append(Stage(f"{half}: {before}", now.copy(), leaving, now == total))
            sent = now.copy()
            for rank, chunk in arrives:
                kept = sent[rank, chunk] if half == "reduce-scatter" else 0
                now[rank, chunk] = kept + sent[rank - 1, chunk]
    return halves


def arriving(ranks: int, step: int) -> list[tuple[int, int]]:
    """(rank, chunk) for the chunk that each rank gets from the one before it in a step."""
    if step == 0:
        return []
    places = step + 1 if step < ranks else step - ranks + 1
    return [(rank, (rank - places) % ranks) for rank in range(ranks)]


def ring_by_hand(values: np.ndarray) -> None:
    """Draws the two halves below each other, a panel for each stage."""
    both = stages(np.asarray(values))
    ranks = len(values)
    figure, axes = canvas(7.5, 2 * (0.75 + 0.42 * ranks), rows=2, columns=ranks)
    for row, half in enumerate(both):
        for place, stage in enumerate(half):
            _draw(axes[row, place], stage)
    show(figure, " ".join(_in_words(stage) for half in both for stage in half))


def _draw(axes: Axes, stage: Stage) -> None:
    """A table of the ranks' chunks, with an arrow down to the next rank for each that leaves."""
    ranks = len(stage.values)
    for rank, chunk in np.ndindex(stage.values.shape):
        leaves = stage.leaving is not None and stage.leaving[rank] == chunk
        done = stage.finished[rank, chunk]
        fill = SKY if done else PALE if leaves else CARD
        box(axes, chunk, rank * 1.5, 1, 1, fill, f"{stage.values[rank, chunk]:g}", 9)
        if leaves:
            _arrow(axes, rank, chunk, ranks)
    for rank in range(ranks):
        write(axes, -0.15, rank * 1.5 + 0.5, f"rank {rank}", 8, ha="right")
        write(axes, rank + 0.5, -0.75, f"{rank}", 8, color=INK)
    write(axes, -0.15, -0.75, "chunk", 8, ha="right")
    axes.set_title(stage.title.replace(": ", "\n"), size=9)
    bare(axes, (-1.3, ranks + 0.1), (1.5 * ranks + 0.1, -1.1))


def _arrow(axes: Axes, rank: int, chunk: int, ranks: int) -> None:
    """From a rank's chunk to the rank below it; from the last one out, and in again at the top."""
    x = chunk + 0.5
    starts = [rank * 1.5 + 1, -0.5] if rank == ranks - 1 else [rank * 1.5 + 1]
    for y in starts:
        arrow(axes, (x, y), (x, y + 0.5), "-|>", ORANGE, linewidth=1.6)


def _in_words(stage: Stage) -> str:
    rows = []
    for rank, row in enumerate(stage.values):
        numbers = ", ".join(f"{value:g}" for value in row)
        sends = f" and sends chunk {stage.leaving[rank]}" if stage.leaving else ""
        rows.append(f"rank {rank} has {numbers}{sends}")
    return f"{stage.title[0].upper()}{stage.title[1:]}: {'; '.join(rows)}."
