"""What went on at the streams of a run: which words moved, what waits, and what went wrong first.

Each `Happened` is a sentence and the cycle that shows it. These are facts of the trace; why the
module does so is for the learner to find.
"""

from typing import NamedTuple

import numpy as np

from labkit.fpga.judging.wave_table import as_shown
from labkit.fpga.running.traces import Trace
from labkit.fpga.simulate import Simulation


class Happened(NamedTuple):
    """A sentence, and the cycle that shows it."""

    sentence: str
    cycle: int


def stream_of(name: str) -> str:
    """The stream that an output or a port belongs to: y of y, y_data and y_valid."""
    stream, _, end = name.rpartition("_")
    return stream if end in ("data", "last", "valid", "ready") else name


def moved(trace: Trace) -> dict[str, np.ndarray]:
    """Stream -> in which cycles a word moves, as a row of bool."""
    names = [name.removesuffix("_valid") for name in trace if name.endswith("_valid")]
    return {
        name: (trace[f"{name}_valid"] == 1) & (trace[f"{name}_ready"] == 1)
        for name in names
        if f"{name}_ready" in trace
    }


def moved_at_all(trace: Trace) -> np.ndarray:
    """In which cycles a word moves, of any stream."""
    return np.any(list(moved(trace).values()), axis=0)


def waiting(trace: Trace, since: int) -> list[str]:
    """What each stream does after the cycle in which the last word moved."""
    said = []
    for stream in moved(trace):
        valid, ready = (trace[f"{stream}_{end}"][since + 1 :] for end in ("valid", "ready"))
        if not trace.signals[f"{stream}_data"].is_input:
            said.append(f"`{stream}_valid` {_level(valid)}")
        elif not valid.any():
            said.append(f"all words of `{stream}` are taken")
        else:
            said.append(f"a word of `{stream}` waits, and `{stream}_ready` {_level(ready)}")
    return said


def all_taken(trace: Trace, stream: str) -> bool:
    """Whether no word is on offer at the end of a run, of any stream but this one."""
    return all(trace[f"{name}_valid"][-1] == 0 for name in moved(trace) if name != stream)


def waited(trace: Trace, stream: str) -> bool:
    """Whether a word was on offer in some cycle in which nobody took it."""
    return bool(((trace[f"{stream}_valid"] == 1) & (trace[f"{stream}_ready"] == 0)).any())


def _level(values: np.ndarray) -> str:
    return f"stays {values[0]}" if len(set(values.tolist())) == 1 else "comes and goes"


def unsteady(run: Simulation, end: int) -> Happened | None:
    """A word on offer was withdrawn or changed, up to the cycle `end`."""
    if not run.withdrawn or run.withdrawn[0][0] > end:
        return None
    cycle, port = run.withdrawn[0]
    stream = stream_of(port)
    if run.trace[port][cycle] == run.trace[port][cycle - 1]:  # then it is `last` that changes
        port = f"{stream}_last"
    signal = run.trace.signals[port]
    before, now = (as_shown(run.trace[port][one], signal) for one in (cycle - 1, cycle))
    return Happened(
        f"In cycle {cycle} `{port}` goes from {before} to {now}, although `{stream}_ready` was 0 "
        f"in cycle {cycle - 1}: a word on offer has to stay as it is until it is taken.",
        cycle,
    )


def repeated(run: Simulation, right: np.ndarray, stream: str, word: int) -> Happened | None:
    """The word before comes a second time; `right` are the words that should come."""
    got = run.outputs[stream]
    if word == 0 or got[word] != got[word - 1] or got[word - 1] != right[word - 1]:
        return None
    taken, again = (int(run.times[stream][one]) for one in (word - 1, word))
    if any(moves[taken:again].any() for name, moves in moved(run.trace).items() if name != stream):
        return None  # then it may be another word
    return Happened(
        f"It is the word before once more: that was taken in cycle {taken}, and `{stream}_valid` "
        f"is 1 for it again in cycle {again}. Once a word is taken, valid has to fall, unless the "
        "next word is there.",
        again,
    )


def skipped(run: Simulation, right: np.ndarray, stream: str, word: int) -> Happened | None:
    """The word after it comes in its place; `right` are the words that should come."""
    got = run.outputs[stream][word]
    if word + 1 == len(right) or got == right[word] or got != right[word + 1]:
        return None
    found = overrun(run, stream, word)
    if found is None:
        return None
    return Happened(
        f"It is the word after: the one before it is lost. {found.sentence}", found.cycle
    )


def early(run: Simulation, ours: Simulation, stream: str, word: int) -> Happened | None:
    """The word comes before ours, which is right."""
    cycle, right = int(run.times[stream][word]), int(ours.times[stream][word])
    if cycle >= right:
        return None
    return Happened(
        f"Ours hands this word over in cycle {right}: is `{stream}_valid` 1 too early?", cycle
    )


def overrun(run: Simulation, stream: str, word: int) -> Happened | None:
    """A word moved in while one waited to be taken, since the last one that was handed over."""
    begin, end = _between(run, stream, word)
    waits = (run.trace[f"{stream}_valid"] == 1) & (run.trace[f"{stream}_ready"] == 0)
    for name, moves in moved(run.trace).items():
        cycles = begin + np.flatnonzero((waits & moves)[begin:end])
        if len(cycles):
            return Happened(
                f"In cycle {cycles[0]} a word of `{name}` moves in while one waits at `{stream}`, "
                f"whose ready is 0: is there room for both?",
                int(cycles[0]),
            )
    return None


def never_offered(run: Simulation, stream: str, word: int) -> bool:
    """Whether valid is 0 in all cycles since the last word that was handed over."""
    begin, end = _between(run, stream, word)
    return not run.trace[f"{stream}_valid"][begin:end].any()


def still(run: Simulation, stream: str, word: int) -> Happened | None:
    """In some cycle since the word before was handed over, no word moved."""
    begin, end = _between(run, stream, word)
    cycles = begin + np.flatnonzero(~moved_at_all(run.trace)[begin:end])
    if not len(cycles):
        return None
    return Happened(
        f"No word moves in cycle {cycles[0]}: in such a cycle, a word that is kept has to stay as "
        "it is.",
        int(cycles[0]),
    )


def _between(run: Simulation, stream: str, word: int) -> tuple[int, int]:
    """The cycles after the word before, up to a word, or to the end where it never comes."""
    times = run.times[stream]
    begin = int(times[word - 1]) + 1 if word else 0
    return begin, int(times[word]) if word < len(times) else run.trace.cycles


def first_other(run: Simulation, before: Simulation) -> Happened | None:
    """The first output that is not as it was in a run after one reset alone.

    What a stream holds while it offers nothing is not looked at.
    """
    found = []
    for name, port in run.trace.signals.items():
        if port.is_input:
            continue
        length = min(run.trace.cycles, before.trace.cycles)
        other = run.trace[name][:length] != before.trace[name][:length]
        valid = f"{stream_of(name)}_valid"
        if valid in run.trace:
            offered = (run.trace[valid] == 1)[:length] & (before.trace[valid] == 1)[:length]
            other &= offered | (name == valid) | name.endswith("_ready")
        if other.any():
            found.append((int(np.argmax(other)), not name.endswith("_valid"), name))
    if not found:
        return None
    cycle, _, name = min(found)  # of one cycle, valid first: it says most
    signal = run.trace.signals[name]
    now, was = (as_shown(its.trace[name][cycle], signal) for its in (run, before))
    return Happened(
        f"In cycle {cycle} after it `{name}` is {now}; after the first reset it was {was}.", cycle
    )
