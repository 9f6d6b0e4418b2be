"""A picture of the ring: which sums each rank holds after each step of `ring_all_reduce`.

    ring_picture(4)                # the start and all six steps
    ring_picture(4, steps=[0, 1])  # the start and the first step

Lesson the_ring.
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.figures import canvas, show
from labkit.figures.shapes import bare, box, key
from labkit.figures.style import CARD, ORANGE, SKY, Axes

BOTH = "#f6d7ae"  # complete, and has just come
MOST_RANKS = 4  # beyond it the sums fit no cell
CELL = 0.43  # inches, the width of a chunk
GAP, ABOVE, LEFT = 0.45, 1.8, 1.35  # in cells: between grids, for their titles, for the ranks
State = list[list[frozenset[int]]]  # [rank][chunk]: whose numbers that chunk's sum has


def ring_states(ranks: int) -> list[State]:
    """What each rank holds at the start, and after each of the 2 (n - 1) steps.

    states[step][rank][chunk] is the set of ranks whose numbers are in that sum.
    """
    state = [[frozenset({rank}) for _ in range(ranks)] for rank in range(ranks)]
    states = [state]
    for step in range(1, 2 * ranks - 1):
        state = [list(row) for row in state]
        for rank, chunk in arriving(ranks, step):
            before = states[-1][(rank - 1) % ranks][chunk]
            state[rank][chunk] = before | states[-1][rank][chunk]
        states.append(state)
    return states


def arriving(ranks: int, step: int) -> list[tuple[int, int]]:
    """(rank, chunk) for the chunk that each rank gets from the one before it in a step."""
    if step == 0:
        return []
    places = step + 1 if step < ranks else step - ranks + 1
    return [(rank, (rank - places) % ranks) for rank in range(ranks)]


def ring_picture(ranks: int = 4, steps: Sequence[int] | None = None) -> None:
    """A grid for each step, a row for each rank, a column for each chunk: whose numbers it sums.

    steps   which are drawn, from 0, the start, to 2 (n - 1); by default all

    Blue is what has just come, orange a sum that is complete. Raises ValueError for other ranks
    than 2 to 4, and for steps that there are not.
    """
    if not 2 <= ranks <= MOST_RANKS:
        raise ValueError(f"ring_picture draws 2 to {MOST_RANKS} ranks, not {ranks}.")
    states = ring_states(ranks)
    drawn = range(len(states)) if steps is None else steps
    if not drawn or not all(0 <= step < len(states) for step in drawn):
        raise ValueError(f"The steps go from 0, the start, to {len(states) - 1}: {list(drawn)}.")
    across = min(max(ranks, 3), len(drawn))  # sums come in the first row, results below
    down = -(-len(drawn) // across)
    right, bottom = across * (ranks + GAP) - GAP, down * (ranks + ABOVE)
    figure, axes = canvas(CELL * (right + LEFT), 0.45 + 0.7 * CELL * bottom)
    for place, step in enumerate(drawn):
        corner = (place % across * (ranks + GAP), place // across * (ranks + ABOVE) + ABOVE)
        _draw(axes, states[step], ranks, step, corner)
    key(figure, 3, {"has just come": SKY, "complete": ORANGE, "both": BOTH}, s=60)
    bare(axes, (-LEFT, right + 0.05), (bottom + 0.05, 0))
    show(figure, _alt_text(states, ranks, drawn))


def _draw(axes: Axes, state: State, ranks: int, step: int, corner: tuple[float, float]) -> None:
    """The state after one step; the first grid of a row has the ranks' names."""
    left, top = corner
    new = set(arriving(ranks, step))
    for rank in range(ranks):
        y = top + rank
        if left == 0:
            axes.text(-0.15, y + 0.5, f"rank {rank}", ha="right", va="center", fontsize=8.5)
        for chunk in range(ranks):
            fill = _fill(len(state[rank][chunk]) == ranks, (rank, chunk) in new)
            box(axes, left + chunk, y, 1, 1, fill, _name(state[rank][chunk], ranks), 7.5)
    for chunk in range(ranks):
        axes.text(
            left + chunk + 0.5,
            top - 0.12,
            f"c{chunk}",
            ha="center",
            fontsize=7.5,
        )
    title = "the start" if step == 0 else f"after step {step}"
    axes.text(
        left + ranks / 2,
        top - 0.85,
        title,
        ha="center",
        fontsize=9,
        weight="bold",
    )


def _fill(complete: bool, new: bool) -> str:
    if complete:
        return BOTH if new else ORANGE
    return SKY if new else CARD


def _name(sum_of: frozenset[int], ranks: int) -> str:
    return "all" if len(sum_of) == ranks else "+".join(str(rank) for rank in sorted(sum_of))


def _alt_text(states: list[State], ranks: int, drawn: Sequence[int]) -> str:
    said = []
    for step in drawn:
        rows = []
        for rank in range(ranks):
            chunks = " | ".join(_name(sum_of, ranks) for sum_of in states[step][rank])
            rows.append(f"rank {rank}: {chunks}")
        said.append(f"{'start' if step == 0 else f'step {step}'}: {'; '.join(rows)}")
    return (
        f"Whose numbers each of the {ranks} chunks of each rank sums, in a ring of {ranks} ranks. "
        + ". ".join(said)
        + "."
    )
