"""What a module whose words are right goes through next: stalls, a second reset, a busy neighbour.

Each trial runs it again on the inputs of a case, and raises what the learner is told.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from labkit.checks.items import CostLimitExceeded, Unsteady
from labkit.fpga.errors import DoesNotEnd, RTLError, ToolError
from labkit.fpga.judging.first_difference import Paragraphs, Words, first_difference, table
from labkit.fpga.ports import Ports
from labkit.fpga.running.jobs import QUIET
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.running.stream_moves import first_other, moved, unsteady
from labkit.fpga.running.traces import Trace
from labkit.fpga.simulate import Simulation

STALLS = Stalls(seed=1, share=0.4)
AGAIN_AFTER = (1, 2, 3, 5, 8, 13, 21)  # cycles between the first reset and the second
BUSY = 64  # cycles in which nobody takes a word
ENOUGH_EARLY = 3  # cycles that our module is ready early: in fewer, another may not be, by chance
FREE = 448  # cycles after them, until the pattern repeats itself
WHEN_STALLED = "The words are right when they flow freely, but not when a neighbour waits."
WHEN_RESET = (
    "The words are right after the first reset, but not after a second one in the middle of a run: "
    "while `rst` is 1, each register that says what is going on has to go back to its first value."
)


class Tried(NamedTuple):
    """A run, as far as there is one; what is said of its first word that is wrong or missing.

    said   a headline and what follows it; None: all words are right
    """

    run: Simulation | None
    fault: tuple[str, Paragraphs] | None
    ended: bool


@dataclass(frozen=True)
class Bench:
    """A learner's module on the inputs of a case, beside the course's own.

    run      run(**options) -> a simulation of it, with options of `simulate`
    read     read(simulation) -> an array for each output
    ours     the course's own run, without stalls
    outputs  the names of what is read
    """

    run: Callable[..., Simulation]
    read: Callable[[Simulation], tuple[np.ndarray, ...]]
    ours: Simulation
    outputs: Sequence[str]

    @cached_property
    def right(self) -> Words:
        """The course's own words."""
        return Words(self.ours, self.read(self.ours))

    def tried(self, **options: Any) -> Tried:
        """A run of the learner's module, given up where ours had long ended and no word moves.

        Where the design ends its simulator, the engine's words are what is said.
        """
        try:
            mine = self.run(idle=QUIET + int(self.ours.cycles), **options)
        except DoesNotEnd as error:
            return Tried(error.run, self._fault(error.run, options) or (str(error), []), False)
        except ToolError:
            raise
        except RTLError as error:
            return Tried(None, (str(error), []), False)
        return Tried(mine, self._fault(mine, options), True)

    def _fault(self, mine: Simulation, options: dict) -> tuple[str, Paragraphs] | None:
        words = Words(mine, self.read(mine))
        return first_difference(words, self.right, self.outputs, "stalls" in options)


def demand_patience(bench: Bench, shortest: Callable[[], Paragraphs]) -> Simulation:
    """Unsteady where other words come out once neighbours wait, or not all of them.

    shortest   gives the shortest run that shows a broken rule, if there is one

    Returns the run with stalls.
    """
    stalled, fault, _ = bench.tried(stalls=STALLS)
    if fault:
        headline, details = fault
        raise Unsteady(f"{WHEN_STALLED} {headline}", *details, *shortest())
    if stalled.withdrawn:
        happened = unsteady(stalled, int(stalled.cycles))
        raise Unsteady(
            "The words are right, but a word that is offered must stay on offer until it is "
            "taken, and with stalls it does not.",
            happened.sentence,
            table(stalled, happened.cycle),
        )
    return stalled


def demand_reset(bench: Bench, before: Simulation) -> None:
    """Unsteady where a second reset, after a few cycles, does not bring the module back.

    before   the same run after a first reset alone. All registers are 0 before the first one, so
             that a module without a reset could pass
    """
    for cycles in AGAIN_AFTER:
        again, fault, _ = bench.tried(stalls=STALLS, again_after=cycles)
        if fault is None:
            continue
        headline, details = fault
        happened = again and first_other(again, before)
        if happened:
            details = [happened.sentence, table(again, happened.cycle)]
        raise Unsteady(
            f"{WHEN_RESET} Here it comes after {cycles} cycle{'s' * (cycles != 1)}: {headline}",
            *details,
        )


def demand_room(bench: Bench, free: Simulation, ports: Ports, keeps: int) -> None:
    """CostLimitExceeded where the module takes too few words while nobody takes one from it.

    Unsteady where words are lost meanwhile.

    free    the run in which nobody waits: a word that it takes later than BUSY is not asked for
    keeps   how many words should find room; of a run with fewer, all of them
    """
    busy = np.repeat([1, 0], [BUSY, FREE])
    run, fault, _ = bench.tried(stalls=dict.fromkeys(ports.streams_out, busy))
    if fault:
        headline, details = fault
        raise Unsteady(f"{WHEN_STALLED} {headline}", *details)
    for stream in ports.streams_in:
        kept, enough = (_taken(its, stream) for its in (run.trace, free.trace))
        enough = min(keeps, enough)
        if kept < enough:
            should = f"several should: at least {enough}" if enough > 1 else "one should"
            cycle = _first(run.trace, stream, 1, 0)
            raise CostLimitExceeded(
                f"The words are right, but while the next module is busy, only {kept} word"
                f"{'s' * (kept != 1)} found room, and {should}.",
                f"In cycle {cycle} `{stream}` offers a word, and `{stream}_ready` is 0:",
                table(run, cycle),
            )


def _taken(trace: Trace, stream: str) -> int:
    """How many words moved into a stream in the first BUSY cycles."""
    return int(moved(trace)[stream][:BUSY].sum())


def demand_early_ready(bench: Bench, ours: Simulation, ports: Ports) -> None:
    """CostLimitExceeded where a ready input waits for valid, and that of our module does not.

    ours   the run of the course's module with the same stalls
    """
    mine = bench.run(stalls=STALLS)
    for stream in ports.streams_in:
        early = _early(ours.trace, stream)
        if early.sum() > ENOUGH_EARLY and not _early(mine.trace, stream).any():
            cycle = _first(mine.trace, stream, 0, 0)
            raise CostLimitExceeded(
                f"The words are right, but `{stream}_ready` is 1 only in cycles in which "
                f"`{stream}_valid` is, too. The text asks for 1 also while nothing is offered: "
                "leave valid out of it.",
                f"In cycle {cycle} both are 0:",
                table(mine, cycle),
            )


def _early(trace: Trace, stream: str) -> np.ndarray:
    """The cycles in which a module is ready for a word that is not offered."""
    return (trace[f"{stream}_valid"] == 0) & (trace[f"{stream}_ready"] == 1)


def _first(trace: Trace, stream: str, valid: int, ready: int) -> int:
    """The first cycle in which valid and ready of a stream are so."""
    levels = (trace[f"{stream}_valid"] == valid) & (trace[f"{stream}_ready"] == ready)
    return int(np.argmax(levels))


def same(got: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> bool:
    """Whether what was read from two runs is equal."""
    return all(map(np.array_equal, got, expected))
