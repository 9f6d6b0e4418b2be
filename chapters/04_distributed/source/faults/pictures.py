"""Pictures of lesson faults: who talks with whom, a step that is done twice, what checkpoints cost.

roles_picture       the six processes of a TensorFlow cluster, and what passes between them
twice_picture       how one step changes the weights twice, message after message
intervals_picture   the share of time that checkpoints and faults cost, against the interval
guesses_table       guesses beside results, and by how much they miss them

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Mapping

import numpy as np

from labkit.figures import canvas, show, table
from labkit.figures.shapes import Place, arrow, bare, name_rows, note, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, Axes
from labkit.provenance import Quantity, rounded
from labkit_lessons.distributed.faults.checkpoint_interval import predicted_share

ROWS = {"chief": 2.0, "worker": 1.0, "ps": 0.0}  # height of each role
FILLS = {"chief": PALE, "worker": SKY, "ps": BLUE}
NAMES = {"chief": "coordinator", "worker": "worker", "ps": "server"}
BOX = (1.15, 0.36)  # width and height of a process
ROOM = 1.9  # from one process of a row to the next


def roles_picture(cluster: Mapping[str, list[str]]) -> None:
    """The processes of a cluster {"chief": [address], "worker": [...], "ps": [...]}, by role."""
    figure, axes = canvas(7.5, 3.4)
    places = _places(cluster)
    for worker in places["worker"]:
        for chief in places["chief"]:
            _arrow(axes, chief, worker, QUIET, "-|>")
        for server in places["ps"]:
            _arrow(axes, worker, server, ORANGE, "<|-|>")
    for role, members in cluster.items():
        for index, (address, place) in enumerate(zip(members, places[role], strict=True)):
            _process(axes, role, index, address, place)
    _between(axes, 1.5, "steps to do", QUIET)
    _between(axes, 0.5, "weights, and what to subtract", ORANGE)
    bare(axes, (-3.6, 3.6), (-0.35, 2.35))
    show(
        figure,
        f"{len(cluster['chief'])} coordinator above {len(cluster['worker'])} workers, and these "
        f"above {len(cluster['ps'])} servers. The coordinator tells each worker its steps; every "
        "worker exchanges weights and changes of them with every server.",
    )


def twice_picture() -> None:
    """One step that two workers do, since nobody knows that the first had done it."""
    figure, axes = canvas(7.5, 3.3)
    rows = {"coordinator": 0, "a worker": 1, "another worker": 2, "server": 3}
    ends = {"a worker": 4.2}
    for name, row in rows.items():
        axes.plot([0, ends.get(name, 10)], [row, row], color=PALE, linewidth=5, zorder=0)
    messages = (
        ("coordinator", "a worker", 0.6, "step 700", QUIET),
        ("a worker", "server", 2.6, "w - rate · g", ORANGE),
        ("coordinator", "another worker", 5.6, "step 700", QUIET),
        ("another worker", "server", 7.6, "w - rate · g", ORANGE),
        ("another worker", "coordinator", 8.9, "done", QUIET),
    )
    for source, target, moment, label, colour in messages:
        _message(axes, rows[source], rows[target], moment, label, colour)
    for moment in (3.0, 8.0):
        axes.plot(moment, rows["server"], "o", color=BLUE, markersize=9)
    note(axes, "applied", (3.0, 3), (0, -17), ha="center")
    note(axes, "applied again", (8.0, 3), (0, -17), ha="center")
    axes.plot(4.2, rows["a worker"], "x", color=INK, markersize=11, markeredgewidth=3)
    note(axes, "killed", (4.2, 1), (9, -4), fontsize=9)
    name_rows(axes, list(rows))
    axes.set_ylim(3.75, -0.4)
    axes.set_xlim(0, 10)
    axes.set_xticks([])
    axes.set_xlabel("time")
    show(
        figure,
        "Four rows over time. The coordinator gives step 700 to a worker, whose change the server "
        "applies. The worker is killed before it can report. The coordinator gives step 700 to "
        "another worker, the server applies it again, and this worker reports that it is done.",
    )


def intervals_picture(
    shares: Mapping[int, float], write: float, between: float, best: float
) -> None:
    """The share of time that was lost or spent, by seconds of work between two checkpoints.

    shares    counted, by interval in seconds
    write     seconds that a checkpoint takes
    between   mean seconds between faults
    best      the interval that the formula names, in seconds
    """
    figure, axes = canvas(7.5, 3.2)
    minutes = np.array(list(shares)) / 60
    counted = 100 * np.array(list(shares.values()))
    line = np.geomspace(minutes[0], minutes[-1], 200)
    formula = [100 * predicted_share(60 * minute, write, between) for minute in line]
    axes.plot(line, formula, color=BLUE, label="predicted")
    axes.plot(minutes, counted, "o", color=ORANGE, label="counted")
    axes.axvline(best / 60, color=QUIET, linewidth=0.8, zorder=0)
    note(axes, f"{best / 60:.0f} minutes", (best / 60, 2), (5, 0), fontsize=9)
    axes.set_xscale("log")
    axes.set_xticks(minutes, [f"{minute:g}" for minute in minutes])
    axes.minorticks_off()
    axes.set_ylim(0, None)
    axes.set_xlabel("minutes of work between two checkpoints")
    axes.set_ylabel("% of the time")
    axes.legend(frameon=False)
    said = ", ".join(f"{m:g} minutes {c:.0f} %" for m, c in zip(minutes, counted, strict=True))
    show(figure, f"Time lost or spent on checkpoints, by minutes between them: {said}.")


def guesses_table(guesses: Mapping[str, Quantity | None], results: Mapping[str, Quantity]) -> None:
    """Guess, result and difference: in a picture, 1,500 would look like 1,501."""
    rows = []
    for name, result in results.items():
        guess = guesses[name]
        if guess is None:
            rows.append([name, "none", result, "-"])
        else:
            rows.append([name, guess.number, result, _miss(float(guess) - float(result))])
    table(["", "your guess", "result", "your guess is"], rows)


def _miss(difference: float) -> str:
    """ "1 too low", in the words of a table; "right" where only rounding is between."""
    if abs(difference) < 0.05:
        return "right"
    said = rounded(abs(difference))
    return f"{said} too high" if difference > 0 else f"{said} too low"


def _places(cluster: Mapping[str, list[str]]) -> dict[str, list[Place]]:
    """The middle of each process, in a row for each role."""
    found = {}
    for role, members in cluster.items():
        left = -ROOM * (len(members) - 1) / 2
        found[role] = [(left + ROOM * index, ROWS[role]) for index in range(len(members))]
    return found


def _process(axes: Axes, role: str, index: int, address: str, place: Place) -> None:
    from matplotlib.patches import FancyBboxPatch

    width, height = BOX
    corner = place[0] - width / 2, place[1] - height / 2
    look = {"boxstyle": "round,pad=0.03", "facecolor": FILLS[role], "edgecolor": CARD}
    axes.add_patch(FancyBboxPatch(corner, width, height, **look))
    name = NAMES[role] if role == "chief" else f"{NAMES[role]} {index}"
    ink = CARD if role == "ps" else INK
    write(axes, *place, f"{name}\n{address}", 8.5, color=ink)


def _arrow(axes: Axes, source: Place, target: Place, colour: str, style: str) -> None:
    """From the lower edge of one process to the upper edge of another."""
    reach = BOX[1] / 2 + 0.05
    begin, end = (source[0], source[1] - reach), (target[0], target[1] + reach)
    arrow(axes, begin, end, style, colour, linewidth=1.2).set_zorder(0)


def _between(axes: Axes, height: float, text: str, colour: str) -> None:
    """What passes between two rows, at the left."""
    axes.text(-3.55, height, text, va="center", fontsize=9, color=INK)


def _message(axes: Axes, source: int, target: int, moment: float, label: str, colour: str) -> None:
    end = (moment + 0.4, target)
    arrow(axes, (moment, source), end, "-|>", colour, linewidth=1.6, shrinkB=3)
    step = 0.5 if target > source else -0.5  # halfway to the next row, where no bar is
    along = step / (target - source)
    place = (moment + 0.4 * along, source + step)
    note(axes, label, place, (7, 0), fontsize=9, va="center")
