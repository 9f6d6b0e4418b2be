"""The picture of one block of the GPT: which rank holds which part, and where the ranks add up.

layout_picture   attention above, the MLP below; every weight in the colours of the ranks

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Sequence

from labkit.distributed.gpt.model import Config
from labkit.distributed.tensor_parallel.split import refuse_wrong_ranks
from labkit.figures import canvas, show
from labkit.figures.shapes import FILLS, arrow, bare, box, write
from labkit.figures.style import CARD, PALE, QUIET, Axes

SIZE = 1.0  # of a side of D numbers, in the picture
LONG = 2.2  # of one of 4D numbers
GAP = 0.35
STREAM = 0.16  # the width of x and y


def layout_picture(config: Config, ranks: int) -> None:
    """One block on 2 to 4 ranks, drawn as the formula x A B has it: inputs down, outputs across.

    Raises ValueError for another number of ranks, and where these cannot share the heads.
    """
    if ranks not in (2, 3, 4):
        raise ValueError(f"layout_picture draws 2 to 4 ranks, not {ranks}.")
    refuse_wrong_ranks(config, ranks)
    figure, axes = canvas(7.5, 3.5)
    below = -SIZE / 2 - 0.75 - LONG / 2  # the middle of the lower half
    _draw_half(axes, 0.0, ranks, ("Q", "K", "V"), "heads", "output", SIZE)
    _draw_half(axes, below, ranks, ("expand",), "GELU", "contract", LONG)
    for middle, name in ((0.0, "attention"), (below, "MLP")):
        write(axes, -0.3, middle, name, ha="right", fontweight="bold")
    bare(axes, (-1.6, 9.1), (below - LONG / 2 - 0.1, SIZE / 2 + 0.5), "equal")
    show(figure, _alt_text(config, ranks))


def _draw_half(
    axes: Axes,
    middle: float,
    ranks: int,
    names: Sequence[str],
    between: str,
    last: str,
    inner: float,
) -> None:
    """x, the column-split weights, what happens between, the row-split weight, y."""
    left = _draw_stream(axes, 0.0, middle, "x")
    left = _draw_sum(axes, left, middle, "backward")
    for name in names:
        _draw_columns(axes, left, middle, inner, ranks, name)
        left += inner + GAP
    left = _draw_between(axes, left, middle, between)
    _draw_rows(axes, left, middle, inner, ranks, last)
    left += SIZE + GAP
    left = _draw_sum(axes, left, middle, "forward")
    _draw_stream(axes, left, middle, "y")


def _draw_stream(axes: Axes, left: float, middle: float, name: str) -> float:
    """What every rank has whole; returns where the next thing begins."""
    box(axes, left, middle - SIZE / 2, STREAM, SIZE, PALE, **_LOOK)
    _name(axes, left + STREAM / 2, middle + SIZE / 2, name)
    return left + STREAM + GAP


def _draw_sum(axes: Axes, left: float, middle: float, direction: str) -> float:
    """An all-reduce: a line through which all ranks' numbers go in one direction."""
    tip, tail = (left + 0.62, left) if direction == "forward" else (left, left + 0.62)
    look = {"linewidth": 1.6, "shrinkA": 2, "shrinkB": 2}
    arrow(axes, (tail, middle), (tip, middle), "-|>", **look)
    write(axes, left + 0.31, middle - 0.14, f"all-reduce\n{direction}", 7.5, va="top")
    return left + 0.62 + GAP


def _draw_between(axes: Axes, left: float, middle: float, name: str) -> float:
    write(axes, left + 0.3, middle, name, 8.5, color=QUIET)
    return left + 0.6 + GAP


def _draw_columns(
    axes: Axes, left: float, middle: float, width: float, ranks: int, name: str
) -> None:
    for rank in range(ranks):
        part = width / ranks
        _part(axes, left + rank * part, middle - SIZE / 2, part, SIZE, rank)
    _name(axes, left + width / 2, middle + SIZE / 2, name)


def _draw_rows(
    axes: Axes, left: float, middle: float, height: float, ranks: int, name: str
) -> None:
    for rank in range(ranks):
        part = height / ranks
        _part(axes, left, middle + height / 2 - (rank + 1) * part, SIZE, part, rank)
    _name(axes, left + SIZE / 2, middle + height / 2, name)


def _part(axes: Axes, left: float, bottom: float, width: float, height: float, rank: int) -> None:
    fill, ink = FILLS[rank]
    box(axes, left, bottom, width, height, fill, f"{rank}", 9, ink, **_LOOK)


def _name(axes: Axes, middle: float, top: float, name: str) -> None:
    write(axes, middle, top + 0.1, name, 9, va="baseline")


_LOOK = {"edge": CARD, "linewidth": 1.0}


def _alt_text(config: Config, ranks: int) -> str:
    heads, width = config.heads // ranks, config.width
    columns, hidden = width // ranks, 4 * width // ranks
    return (
        f"One block on {ranks} ranks. Attention: each rank has {heads} of {config.heads} heads, "
        f"which are {columns} neighbouring columns of Q, K and V and {columns} rows of output. "
        f"MLP: each has {hidden} columns of expand and {hidden} rows of contract. Every rank has "
        "x and y whole. Each half has one all-reduce in the forward, behind output and contract, "
        "and one in the backward, before Q, K and V and before expand."
    )
