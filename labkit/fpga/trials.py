"""What a module whose words are right goes through next: stalls, a second reset, a busy neighbour.

Each trial runs it again on the inputs of a case, and raises what the learner is told.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import TooDear, Unsteady
from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.ports import Ports
from labkit.fpga.simulate import Simulation
from labkit.fpga.stalls import Stalls
from labkit.fpga.traces import Trace

STALLS = Stalls(seed=1, share=0.4)
AGAIN_AFTER = (1, 2, 3, 5, 8, 13, 21)  # cycles between the first reset and the second
BUSY = 64  # cycles in which nobody takes a word
ENOUGH_EARLY = 3  # cycles that our module is ready early: in fewer, another may not be, by chance
FREE = 448  # cycles after them, until the pattern repeats itself
WHEN_STALLED = "The words are right when they flow freely, but not when a neighbour waits."
STILL = "In a cycle in which nothing moves, a word that is kept has to stay as it is."
WHEN_RESET = (
    "The words are right after the first reset, but not after a second one in the middle of a run: "
    "while `rst` is 1, each register that says what is going on has to go back to its first value."
)

Run = Callable[..., Simulation]  # of the module on the inputs, with options of `simulate`
Read = Callable[[Simulation], Any]  # what it gave


def demand_patience(run: Run, read: Read, expected: Any, shortest: Callable[[], str]) -> None:
    """Unsteady where other words come out once neighbours wait, or not all of them.

    shortest   gives a sentence on the shortest run that shows a broken rule, if there is one
    """
    try:
        stalled = run(stalls=STALLS)
    except ToolError:
        raise
    except RTLError as error:
        raise Unsteady(f"{WHEN_STALLED} {shortest() or error}") from None
    if not same(read(stalled), expected):
        raise Unsteady(
            f"{WHEN_STALLED} With valid or ready at 0 in some cycles, other words come out. "
            f"{shortest() or STILL}"
        )
    if stalled.violations:
        raise Unsteady(
            "The words are right, but a word that is offered must stay on offer until it is "
            f"taken, and with stalls it does not: {stalled.violations[0]}."
        )


def demand_reset(run: Run, read: Read, expected: Any) -> None:
    """Unsteady where a second reset, after a few cycles, does not bring the module back.

    All registers are 0 before the first one, so that a module without a reset could pass.
    """
    for cycles in AGAIN_AFTER:
        said = f"{WHEN_RESET} Here it comes after {cycles} cycle{'s' * (cycles != 1)}, and"
        try:
            begun_anew = run(stalls=STALLS, again_after=cycles)
        except ToolError:
            raise
        except RTLError as error:
            raise Unsteady(f"{said} then {error}") from None
        if not same(read(begun_anew), expected):
            raise Unsteady(f"{said} other words come out.")


def demand_room(run: Run, free: Simulation, ports: Ports, keeps: int) -> None:
    """TooDear where the module takes too few words while nobody takes one from it.

    Unsteady where the run does not even end, since words are lost meanwhile.

    free    the run in which nobody waits: a word that it takes later than BUSY is not asked for
    keeps   how many words should find room; of a run with fewer, all of them
    """
    busy = np.repeat([1, 0], [BUSY, FREE])
    try:
        trace = run(stalls=dict.fromkeys(ports.streams_out, busy)).trace
    except ToolError:
        raise
    except RTLError as error:
        raise Unsteady(f"{WHEN_STALLED} {error}") from None
    for stream in ports.streams_in:
        kept, enough = (_taken(its, stream) for its in (trace, free.trace))
        enough = min(keeps, enough)
        if kept < enough:
            should = f"several should: at least {enough}" if enough > 1 else "one should"
            raise TooDear(
                f"The words are right, but while the next module is busy, only {kept} word"
                f"{'s' * (kept != 1)} found room, and {should}."
            )


def _taken(trace: Trace, stream: str) -> int:
    """How many words moved into a stream in the first BUSY cycles."""
    return int(((trace[f"{stream}_valid"] == 1) & (trace[f"{stream}_ready"] == 1))[:BUSY].sum())


def demand_early_ready(run: Run, ours: Run, ports: Ports) -> None:
    """TooDear where a ready input waits for valid, and that of the course's module does not."""
    mine, right = run(stalls=STALLS).trace, ours(stalls=STALLS).trace
    for stream in ports.streams_in:
        if _early(right, stream) > ENOUGH_EARLY and not _early(mine, stream):
            raise TooDear(
                f"The words are right, but `{stream}_ready` is 1 only in cycles in which "
                f"`{stream}_valid` is, too. The text asks for 1 also while nothing is offered: "
                "leave valid out of it."
            )


def _early(trace: Trace, stream: str) -> int:
    """The cycles in which a module is ready for a word that is not offered."""
    return int(((trace[f"{stream}_valid"] == 0) & (trace[f"{stream}_ready"] == 1)).sum())


def same(got: Any, expected: Any) -> bool:
    """Whether two results, each an array or a tuple of arrays, are equal."""
    if isinstance(got, tuple):
        return all(map(np.array_equal, got, expected))
    return np.array_equal(got, expected)
