"""The first word of a module that is not as it should be: which, in which cycle, and what shows.

A run of a learner's module is compared with the course's own on the same inputs, word by word and
not cycle by cycle: a right module may take its time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from labkit.checks.phrasing import number_pair
from labkit.checks.render import Code
from labkit.fpga.judging.wave_table import Lane, wave_table
from labkit.fpga.running.stream_moves import (
    all_taken,
    early,
    moved_at_all,
    never_offered,
    overrun,
    repeated,
    skipped,
    still,
    stream_of,
    unsteady,
    waited,
    waiting,
)
from labkit.fpga.simulate import Simulation

Paragraphs = list[str | Code]


@dataclass(frozen=True)
class Words:
    """A run, and what is read from it: an array for each output, with a row for each word."""

    run: Simulation
    read: tuple[np.ndarray, ...]


def first_difference(
    mine: Words, ours: Words, outputs: Sequence[str], stalled: bool
) -> tuple[str, Paragraphs] | None:
    """A headline for the first word that is wrong or missing, and what follows; None: all right.

    outputs   the names of what is read
    stalled   whether neighbours waited in the run
    """
    found = _place(mine.read, ours.read)
    if found is None:
        return None
    place, index = found
    name, word, right = outputs[place], index[0], ours.read[place]
    element = f"`{name}[{', '.join(map(str, index))}]`"
    if word == len(mine.read[place]):
        stream = stream_of(name)
        headline = (
            f"{element} never comes; it should be {right[word].tolist()}. So far {word} of "
            f"{len(right)} words of `{stream}` have come."
        )
        return headline, of_missing(mine.run, ours.run, stream, stalled)
    got, expected = number_pair(mine.read[place][index], right[index])
    return f"{element} is {got}; it should be {expected}.", of_wrong(
        mine, ours.run, place, index, outputs, stalled
    )


def _place(
    got: Sequence[np.ndarray], expected: Sequence[np.ndarray]
) -> tuple[int, tuple[int, ...]] | None:
    """The output, by its place, and the index of the first element that is wrong or missing."""
    found = []
    for place, (one, right) in enumerate(zip(got, expected, strict=True)):
        words = min(len(one), len(right))
        apart = np.argwhere(one[:words] != right[:words])
        if len(apart):
            found.append((place, tuple(map(int, apart[0]))))
        elif words < len(right):
            found.append((place, (words,)))
    return min(found, key=lambda one: one[1][0], default=None)


def of_wrong(
    mine: Words,
    ours: Simulation,
    place: int,
    index: tuple[int, ...],
    outputs: Sequence[str],
    stalled: bool,
) -> Paragraphs:
    """Where a wrong element of an output shows, and what happened before."""
    name, word, run = outputs[place], index[0], mine.run
    stream = stream_of(name)
    times = run.times.get(stream, ())
    if word >= len(times):
        return []
    cycle = int(times[word])
    port = name if name in run.trace else f"{stream}_data"
    right = ours.outputs[stream]
    happened = (
        unsteady(run, cycle)
        or repeated(run, right, stream, word)
        or skipped(run, right, stream, word)
        or (still(run, stream, word) if stalled else early(run, ours, stream, word))
    )
    shows = f"It shows in clock cycle {cycle}, in `{port}`"
    lane = _lane(run, port, mine.read[place], index)
    if happened is None:
        return [f"{shows}:", table(run, cycle, lane)]
    return [f"{shows}. {happened.sentence}", table(run, happened.cycle, lane)]


def _lane(run: Simulation, port: str, read: np.ndarray, index: tuple[int, ...]) -> Lane | None:
    """The lane of the port that a row of several numbers has at this index."""
    lanes = read.shape[1] if read.ndim == 2 else 1
    if lanes == 1 or run.trace.signals[port].width % lanes:
        return None
    return Lane(port, index[1], run.trace.signals[port].width // lanes)


def of_missing(mine: Simulation, ours: Simulation, stream: str, stalled: bool) -> Paragraphs:
    """Since when no word moves, how valid and ready are then, and what happened before."""
    cycles = np.flatnonzero(moved_at_all(mine.trace))
    last = int(cycles[-1]) if len(cycles) else -1
    since = f"after clock cycle {last}" if len(cycles) else "at all"
    said = [f"No word moves {since}: {'; '.join(waiting(mine.trace, last))}."]
    word = len(mine.times[stream])
    shown = max(last, 0)
    happened = unsteady(mine, mine.trace.cycles) or overrun(mine, stream, word)
    if happened:
        said.append(happened.sentence)
        shown = happened.cycle
    elif not stalled:
        said.append(f"Ours hands this word over in cycle {ours.times[stream][word]}.")
        if all_taken(mine.trace, stream) and never_offered(mine, stream, word):
            said.append(f"Does `{stream}_valid` wait for a word more?")
    elif never_offered(mine, stream, word):
        said.append(f"When nobody waits, it is offered; now `{stream}_valid` is never 1 for it.")
        said.append(
            "Was there room for it when it moved in?"
            if waited(mine.trace, stream)
            else "Valid must not wait for ready."
        )
    return [" ".join(said), table(mine, shown)]


def table(run: Simulation, cycle: int, lane: Lane | None = None) -> Code:
    """All ports in the cycles around one."""
    return Code(wave_table(run.trace, cycle, lane=lane))
