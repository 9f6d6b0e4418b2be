"""What each collective of `torch.distributed` hands to each rank: run in real ranks, then drawn.

    before_and_after(launch(every_collective, 3))

Rank r begins with as many numbers as there are ranks: 1, 2, 3 in rank 0, 10, 20, 30 in rank 1,
100, 200, 300 in rank 2. So a number says where it comes from, and 111 is a sum. Lesson
processes_and_collectives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from labkit.figures.style import BLUE, CARD, INK, PALE, QUIET, SKY, canvas, show

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes

Held = list[int] | None  # the numbers that a rank holds; None where it gets nothing
BEFORE = "before"
OF_RANK = (SKY, PALE, "#f6d7ae", CARD)  # the fill of what began in rank 0, 1, ...; then of others


def numbers_of(rank: int, ranks: int) -> torch.Tensor:
    """What a rank begins with: 1, 2, 3 times 10 to the power of its number."""
    import torch

    return torch.arange(1, ranks + 1) * 10**rank


def every_collective(rank: int, ranks: int) -> dict[str, Held]:
    """What this rank gets from each collective, by the call; to be run by `launch`."""
    held: dict[str, Held] = {BEFORE: numbers_of(rank, ranks).tolist()}
    for call, run in CALLS.items():
        held[call] = run(numbers_of(rank, ranks), rank, ranks)
    return held


def before_and_after(held: Sequence[dict[str, Held]]) -> None:
    """Shows what `every_collective` returned in each rank: a panel for each collective."""
    panels = list(held[0])
    rows = -(-len(panels) // 2)
    figure, axes = canvas(7.5, rows * (0.45 + 0.3 * len(held)), rows, 2)
    for place, panel in enumerate(panels):
        _draw(axes.flat[place], panel, [rank[panel] for rank in held])
    said = []
    for panel in panels:
        parts = "; ".join(_alt_text(number, rank[panel]) for number, rank in enumerate(held))
        said.append(f"{panel}: {parts}")
    show(figure, f"What each rank holds, before and after. {'. '.join(said)}.")


def _alt_text(rank: int, numbers: Held) -> str:
    return f"rank {rank} {' '.join(map(str, numbers or ['nothing']))}"


def _draw(axes: Axes, title: str, held: Sequence[Held]) -> None:
    """One panel: a row of cells for each rank."""
    from matplotlib.patches import Rectangle

    ranks = len(held)
    axes.set_title(title, loc="left", family="DejaVu Sans Mono", fontsize=9)
    for rank, numbers in enumerate(held):
        axes.text(-0.2, rank + 0.5, f"rank {rank}", ha="right", va="center", fontsize=8)
        if numbers is None:
            axes.text(0.1, rank + 0.5, "-", va="center", color=QUIET)
        for place, number in enumerate(numbers or []):
            fill, ink = _colours(number, ranks)
            box = Rectangle(
                (place, rank),
                1,
                0.9,
                facecolor=fill,
                edgecolor=INK,
                linewidth=0.6,
            )
            axes.add_patch(box)
            middle = place + 0.5, rank + 0.45
            axes.text(*middle, str(number), ha="center", va="center", fontsize=7, color=ink)
    axes.set_xlim(-1.6, ranks * ranks + 0.1)
    axes.set_ylim(ranks, -0.1)
    axes.axis("off")


def _colours(number: int, ranks: int) -> tuple[str, str]:
    """Fill and ink: by the rank that the number began in; a sum is white on blue."""
    for rank in range(ranks):
        if number in numbers_of(rank, ranks):
            return OF_RANK[min(rank, len(OF_RANK) - 1)], INK
    return BLUE, CARD


def _broadcast(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    dist.broadcast(x, 0)
    return x.tolist()


def _reduce(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    dist.reduce(x, 0)  # elsewhere, x holds anything
    return x.tolist() if rank == 0 else None


def _all_reduce(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    dist.all_reduce(x)
    return x.tolist()


def _scatter(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    part = x.new_empty(1)
    dist.scatter(part, list(x.split(1)) if rank == 0 else None, 0)
    return part.tolist()


def _gather(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    parts = [x.new_empty(ranks) for _ in range(ranks)] if rank == 0 else None
    dist.gather(x, parts, 0)
    return [number for part in parts for number in part.tolist()] if rank == 0 else None


def _all_gather(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    parts = [x.new_empty(ranks) for _ in range(ranks)]
    dist.all_gather(parts, x)
    return [number for part in parts for number in part.tolist()]


def _reduce_scatter(x: torch.Tensor, rank: int, ranks: int) -> Held:
    import torch.distributed as dist

    part = x.new_empty(1)
    dist.reduce_scatter(part, list(x.split(1)))
    return part.tolist()


CALLS: dict[str, Callable[[torch.Tensor, int, int], Held]] = {
    "broadcast(x, 0)": _broadcast,
    "reduce(x, 0)": _reduce,
    "all_reduce(x)": _all_reduce,
    "scatter(part, parts, 0)": _scatter,
    "gather(x, parts, 0)": _gather,
    "all_gather(parts, x)": _all_gather,
    "reduce_scatter(part, parts)": _reduce_scatter,
}
