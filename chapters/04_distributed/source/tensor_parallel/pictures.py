"""The picture of one block of the GPT: which rank holds which part, and where the ranks add up.

layout_picture   attention above, the MLP below; every weight in the colours of the ranks
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from labkit.distributed.gpt.model import Config
from labkit.distributed.tensor_parallel.split import refuse_wrong_ranks
from labkit.figures import canvas, show
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FILLS = ((SKY, INK), (BLUE, CARD), ("#f6d7ae", INK), (ORANGE, INK))  # of a rank, and its number's
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
        axes.text(-0.3, middle, name, ha="right", va="center", fontweight="bold")
    axes.set_xlim(-1.6, 9.1)
    axes.set_ylim(below - LONG / 2 - 0.1, SIZE / 2 + 0.5)
    axes.set_aspect("equal")
    axes.axis("off")
    show(figure, _said(config, ranks))


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
    _box(axes, left, middle - SIZE / 2, STREAM, SIZE, PALE)
    axes.text(left + STREAM / 2, middle + SIZE / 2 + 0.1, name, ha="center", fontsize=9)
    return left + STREAM + GAP


def _draw_sum(axes: Axes, left: float, middle: float, direction: str) -> float:
    """An all-reduce: a line through which all ranks' numbers go in one direction."""
    tip, tail = (left + 0.62, left) if direction == "forward" else (left, left + 0.62)
    arrow = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.6}
    axes.annotate("", (tip, middle), (tail, middle), arrowprops=arrow)
    text = f"all-reduce\n{direction}"
    axes.text(left + 0.31, middle - 0.14, text, ha="center", va="top", fontsize=7.5)
    return left + 0.62 + GAP


def _draw_between(axes: Axes, left: float, middle: float, name: str) -> float:
    axes.text(
        left + 0.3,
        middle,
        name,
        ha="center",
        va="center",
        fontsize=8.5,
        color=QUIET,
    )
    return left + 0.6 + GAP


def _draw_columns(
    axes: Axes, left: float, middle: float, width: float, ranks: int, name: str
) -> None:
    for rank in range(ranks):
        part = width / ranks
        _part(axes, left + rank * part, middle - SIZE / 2, part, SIZE, rank)
    axes.text(left + width / 2, middle + SIZE / 2 + 0.1, name, ha="center", fontsize=9)


def _draw_rows(
    axes: Axes, left: float, middle: float, height: float, ranks: int, name: str
) -> None:
    for rank in range(ranks):
        part = height / ranks
        _part(axes, left, middle + height / 2 - (rank + 1) * part, SIZE, part, rank)
    axes.text(left + SIZE / 2, middle + height / 2 + 0.1, name, ha="center", fontsize=9)


def _part(axes: Axes, left: float, bottom: float, width: float, height: float, rank: int) -> None:
    fill, ink = FILLS[rank]
    _box(axes, left, bottom, width, height, fill)
    x, y = left + width / 2, bottom + height / 2
    axes.text(x, y, f"{rank}", color=ink, ha="center", va="center", fontsize=9)


def _box(axes: Axes, left: float, bottom: float, width: float, height: float, fill: str) -> None:
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((left, bottom), width, height, facecolor=fill, edgecolor=CARD))


def _said(config: Config, ranks: int) -> str:
    heads, width = config.heads // ranks, config.width
    columns, hidden = width // ranks, 4 * width // ranks
    return (
        f"One block on {ranks} ranks. Attention: each rank has {heads} of {config.heads} heads, "
        f"which are {columns} neighbouring columns of Q, K and V and {columns} rows of output. "
        f"MLP: each has {hidden} columns of expand and {hidden} rows of contract. Every rank has "
        "x and y whole. Each half has one all-reduce in the forward, behind output and contract, "
        "and one in the backward, before Q, K and V and before expand."
    )
