"""Pictures of lesson restarts_and_monitoring: two attempts, forgotten parts, what each rank does.

restart_picture     the loss of both attempts of a training, as its event files have it
forgotten_picture   how far the loss is off after a restart without some part
ranks_picture       throughput, communication and memory of each rank, as event files have them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from labkit.figures import canvas, show
from labkit.figures.style import BLUE, INK, ORANGE, QUIET, SKY

Series = Mapping[str, Sequence[tuple[int, float]]]
COLOURS = (BLUE, ORANGE, SKY, INK)
MARKS = ("o", "s", "^", "D")
MEAN_OF = 5  # steps of a point in `ranks_picture`
PANELS = (
    ("tokens per second", "tokens per second"),
    ("communication share", "communication, %"),
    ("processor", "processor, % of a core"),
    ("memory", "memory, MiB"),
)


def restart_picture(starts: Sequence[Series], saved: Sequence[int]) -> None:
    """The loss by step, of the first start and of the one that went on from a checkpoint.

    starts   one mapping for each start of rank 0, with the series "loss"
    saved    the steps after which a checkpoint was written

    Raises ValueError where a start has no losses.
    """
    if not starts or not all(start.get("loss") for start in starts):
        raise ValueError("restart_picture: each start needs losses; are these the event files?")
    figure, axes = canvas(7.5, 3.2)
    first, second = (starts[place]["loss"] for place in (0, -1))
    for step in saved:
        axes.axvline(step, color=QUIET, linewidth=0.8, zorder=0)
    axes.plot(*zip(*first, strict=True), "o-", color=BLUE, markersize=9, label="first start")
    axes.plot(
        *zip(*second, strict=True),
        "s-",
        color=ORANGE,
        markersize=4,
        label="second start",
    )
    axes.plot(*first[-1], "X", color=INK, markersize=11, label="a rank dies after this step")
    axes.set_xlabel("step (grey: a checkpoint after this step)")
    axes.set_ylabel("loss")
    axes.legend()
    twice = sorted({step for step, _ in first} & {step for step, _ in second})
    same = dict(first).items() >= {(step, dict(second)[step]) for step in twice}
    show(
        figure,
        f"Loss by step. The first start ends with step {first[-1][0]}; the second one begins with "
        f"step {second[0][0]} and ends with step {second[-1][0]}. Of the {len(twice)} steps that "
        f"both have done, the losses are {'the same' if same else 'different'}.",
    )


def forgotten_picture(differences: Mapping[str, Sequence[float]]) -> None:
    """The loss beside that of the unbroken training, in percent, by steps since the restart.

    Raises ValueError where there is none.
    """
    if not differences or not all(len(values) for values in differences.values()):
        raise ValueError("forgotten_picture: there are no losses to draw.")
    figure, axes = canvas(7.5, 3.2)
    axes.axhline(0, color=QUIET, linewidth=0.8, zorder=0)
    for place, (name, values) in enumerate(differences.items()):
        steps = range(1, len(values) + 1)
        style = {"color": COLOURS[place % len(COLOURS)], "marker": MARKS[place % len(MARKS)]}
        axes.plot(steps, values, markersize=4, linewidth=1.4, label=f"without {name}", **style)
    axes.set_xlabel("steps since the restart")
    axes.set_ylabel("loss, % above the unbroken one")
    axes.legend()
    said = "; ".join(f"without {name} {max(v):.0f} %" for name, v in differences.items())
    show(figure, f"Loss above that of the unbroken training, by step. At most: {said}.")


def ranks_picture(last: Mapping[int, Series]) -> None:
    """Four panels over the steps, with a line of means for each rank: PANELS.

    Raises ValueError where there is no rank, or one of them has told nothing of a panel.
    """
    wanted = {name for name, _ in PANELS}
    if not last or not all(wanted <= set(series) for series in last.values()):
        raise ValueError(f"ranks_picture: each rank tells {', '.join(sorted(wanted))}.")
    figure, panels = canvas(7.5, 4.4, rows=2, columns=2)
    for axes, (name, label) in zip(panels.flat, PANELS, strict=True):
        for rank, series in last.items():
            steps, values = zip(*series[name], strict=True)
            style = {"color": COLOURS[rank % len(COLOURS)], "marker": MARKS[rank % len(MARKS)]}
            means = running_means(values)
            axes.plot(steps, means, markersize=3, linewidth=1.2, label=f"rank {rank}", **style)
        axes.set_ylim(0, 1.1 * max(line.get_ydata().max() for line in axes.lines))
        axes.set_xlabel("step")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set_title(label, fontsize=9)
    panels[-1, -1].legend(loc="lower right")
    show(
        figure,
        f"Four panels with a line for each of {len(last)} ranks, over the steps of the last "
        f"start: tokens per second, the share of communication, processor time and memory, each as "
        f"the mean of a step and the {MEAN_OF - 1} before it.",
    )


def running_means(values: Sequence[float]) -> np.ndarray:
    """[n] -> [n]: of each value and those before it, MEAN_OF at most.

    One short step says little: the system counts processor time in ticks that are as long.
    """
    windows = (values[max(0, end - MEAN_OF) : end] for end in range(1, len(values) + 1))
    return np.array([np.mean(window) for window in windows])
