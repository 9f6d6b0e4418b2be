"""Pictures of parameter servers: one step by hand, who waits when, losses, and staleness.

step_picture        the numbers of one synchronous step through two servers
workers_picture     for each rule, the steps of all workers in virtual time, with their staleness
losses_picture      the losses of some trainings against gradients, and against time
staleness_picture   how stale the gradients of some trainings were

Lesson parameter_servers.

Dense: a shape's place, size, colour and text stand in one call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from labkit.figures import canvas, show
from labkit.figures.shapes import LINES, arrow, bar, bare, name_rows, write
from labkit.figures.style import BLUE, CARD, ORANGE, PALE, SKY, Axes

if TYPE_CHECKING:
    from labkit.distributed.parameter_server.arrivals import Arrivals, Event

SPAN = 40  # gradients whose mean loss is drawn: single batches jump
CEILING = 3.0  # of the axis of losses: what diverges leaves the picture
MS = 1e3  # in a second
SERVERS = 2


class Noted(Protocol):
    """What these pictures need of a training; one entry for each applied gradient."""

    losses: Sequence[float]
    moments: Sequence[float]
    workers: Sequence[int]
    staleness: Sequence[int]


# --- one step by hand


def step_picture(
    weights: Sequence[float], gradients: Sequence[Sequence[float]], rate: float
) -> None:
    """A synchronous step: two servers hold a half of the weights each, two workers push and pull.

    Raises ValueError for other than two workers, or an odd number of weights.
    """
    import numpy as np

    if len(gradients) != 2 or len(weights) % 2:
        raise ValueError("step_picture draws two workers, and an even number of weights.")
    old = np.array(weights, float)
    new = old - rate * np.mean(gradients, axis=0)
    figure, (left, right) = canvas(7.5, 2.9, columns=2)
    push = [np.array_split(np.array(gradient), SERVERS) for gradient in gradients]
    pull = [np.array_split(new, SERVERS)] * 2
    _draw_half_step(
        left,
        "push: gradients go up",
        np.array_split(old, SERVERS),
        push,
        up=True,
    )
    _draw_half_step(right, "pull: new weights come down", pull[0], pull, up=False)
    said = []
    for server in range(SERVERS):
        pushed = ", ".join(_numbers(parts[server]) for parts in push)
        said.append(
            f"Server {server} holds {_numbers(np.array_split(old, SERVERS)[server])}, receives "
            f"{pushed}, and sends {_numbers(pull[0][server])} to both workers."
        )
    show(figure, " ".join(said))


def _draw_half_step(axes: Axes, title: str, held: Sequence, travels: Sequence, up: bool) -> None:
    """Servers above, workers below, and on each arrow what travels; travels[worker][server]."""
    places = (1.0, 4.0)
    for server, x in enumerate(places):
        _draw_box(axes, x, 3.0, f"server {server}\n{_numbers(held[server])}", SKY)
    for worker, x in enumerate(places):
        _draw_box(axes, x, 0.0, f"worker {worker}", PALE)
        for server, other in enumerate(places):
            begin, end = ((x, 0.45), (other, 2.5)) if up else ((other, 2.5), (x, 0.45))
            arrow(axes, begin, end, color=BLUE, lw=1.3, shrinkA=2, shrinkB=2)
            share = _share_of_the_way(straight=worker == server, up=up)
            middle = (x + share * (other - x), 0.45 + share * 2.05)
            behind = {"facecolor": CARD, "edgecolor": "none", "pad": 1.0}
            write(axes, *middle, _numbers(travels[worker][server]), 9, bbox=behind)
    axes.set_title(title)
    bare(axes, (-0.2, 5.2), (-0.5, 3.6))


def _share_of_the_way(straight: bool, up: bool) -> float:
    """How far up an arrow its numbers stand: where those of no other arrow do."""
    if straight:
        return 0.5
    return 0.25 if up else 0.75


def _draw_box(axes: Axes, x: float, y: float, text: str, fill: str) -> None:
    box = {"facecolor": fill, "edgecolor": "none", "boxstyle": "round,pad=0.4"}
    write(axes, x, y, text, 9.5, bbox=box)


def _numbers(values: Sequence[float]) -> str:
    return "(" + ", ".join(f"{value:g}" for value in values) + ")"


# --- who waits when


def workers_picture(arrivals: Mapping[str, Arrivals], until: float) -> None:
    """A row for each worker of each rule: its steps up to `until` virtual seconds.

    The number in a step is its staleness: the gradients applied between its pull and its push. For
    a name that begins with "synchronous" it is 0, since a step's gradients are applied together.
    """
    figure, _ = canvas(7.5, 0.8 + 1.25 * len(arrivals), rows=len(arrivals))
    said = []
    for axes, (name, order) in zip(figure.axes, arrivals.items(), strict=True):
        steps = _steps(order.events)
        together = name.startswith("synchronous")
        workers = 1 + max(event.worker for event in order.events)
        slowest = max(steps, key=lambda step: step[1].moment - step[0].moment)[0].worker
        for pull, push, staleness in steps:
            if pull.moment < until:
                colour = ORANGE if pull.worker == slowest else BLUE
                _draw_step(axes, pull, push, 0 if together else staleness, colour, until)
        done = sum(push.moment <= until for _, push, _ in steps)
        said.append(f"{name}: {done} steps end within {MS * until:g} ms")
        axes.set_title(name, fontsize=10)
        name_rows(axes, [f"worker {worker}" for worker in range(workers)], fontsize=8.5)
        axes.set_xlim(0, MS * until)
        if axes is not figure.axes[-1]:
            axes.set_xticklabels([])
    axes.set_xlabel("virtual ms; in each step its staleness; gaps are waits")
    show(figure, "; ".join(said) + ".")


def _steps(events: Sequence[Event]) -> list[tuple[Event, Event, int]]:
    """Pull, push and staleness of each step."""
    begun: dict[int, tuple[Event, int]] = {}
    applied = 0
    found = []
    for event in events:
        if event.kind == "pull":
            begun[event.worker] = event, applied
        else:
            pull, before = begun.pop(event.worker)
            found.append((pull, event, applied - before))
            applied += 1
    return found


def _draw_step(
    axes: Axes, pull: Event, push: Event, staleness: int, colour: str, until: float
) -> None:
    left, right = MS * pull.moment, MS * min(push.moment, until)
    bar(axes, pull.worker, left, right - left, 0.76, colour)
    if push.moment <= until:
        write(axes, (left + right) / 2, pull.worker, f"{staleness}", 8, color=CARD)


# --- losses and staleness


def losses_picture(runs: Mapping[str, Noted]) -> None:
    """A line for each training: its loss, as the mean of 40 gradients, in two panels.

    Left against the gradients, right against the seconds that `moments` tells. Raises ValueError
    for more trainings than there are kinds of lines, or for one that is shorter than 40 gradients.
    """
    import numpy as np

    if len(runs) > len(LINES) or any(len(run.losses) < SPAN for run in runs.values()):
        raise ValueError(
            f"losses_picture draws up to {len(LINES)} trainings of {SPAN} gradients or more."
        )
    figure, (left, right) = canvas(7.5, 3.0, columns=2)
    said = []
    for (name, run), (colour, style) in zip(runs.items(), LINES, strict=False):
        losses = np.nan_to_num(np.array(run.losses, float), nan=np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(losses, SPAN)
        means = np.minimum(windows, 1e6).mean(axis=1)
        gradients = np.arange(SPAN, len(losses) + 1)
        left.plot(gradients, means, color=colour, linestyle=style, label=name)
        right.plot(np.array(run.moments)[SPAN - 1 :], means, color=colour, linestyle=style)
        said.append(_ending(name, means[-1], run.moments[-1]))
    for axes in (left, right):
        axes.set_ylim(1.0, CEILING)
    left.set_xlabel("gradients")
    right.set_xlabel("virtual seconds")
    left.set_ylabel(f"loss, mean of {SPAN} gradients")
    left.legend(fontsize=8.5, frameon=False)
    show(figure, f"Loss against gradients, and against virtual seconds. {' '.join(said)}")


def _ending(name: str, loss: float, seconds: float) -> str:
    """How a training ends, to one digit: the second one may differ between machines."""
    how = f"ends at a loss of {loss:.1f}" if loss < CEILING else "leaves the picture"
    return f"{name}: {how}, after {seconds:.1f} s."


def staleness_picture(runs: Mapping[str, Noted], slowest: int) -> None:
    """For each training, which share of its gradients had which staleness.

    slowest   the worker whose gradients are drawn in the second colour
    """
    most = max(max(run.staleness) for run in runs.values())
    figure, _ = canvas(7.5, 2.5, columns=len(runs))
    said = []
    for axes, (name, run) in zip(figure.axes, runs.items(), strict=True):
        total = len(run.staleness)
        seen = Counter(zip(run.staleness, (w == slowest for w in run.workers), strict=True))
        places = range(most + 1)
        below = [seen[place, False] / total for place in places]
        above = [seen[place, True] / total for place in places]
        axes.bar(places, below, color=BLUE, label="the others")
        axes.bar(places, above, bottom=below, color=ORANGE, label=f"worker {slowest}")
        axes.set_title(name, fontsize=10)
        axes.set_xlabel("staleness")
        axes.set_ylim(0, 1)
        mean = sum(run.staleness) / total
        said.append(f"{name}: {mean:.1f} on average, at most {max(run.staleness)}.")
    figure.axes[0].set_ylabel("share of the gradients")
    axes.legend(fontsize=8.5, frameon=False)
    show(figure, f"Staleness of the gradients. {' '.join(said)}")
