"""What a launch tells: the output of its ranks, and why it failed, in sentences."""

import re
import signal
import traceback
from collections.abc import Iterable, Sequence

from labkit.distributed.launching import disagreements
from labkit.distributed.launching.ledger import Call
from labkit.distributed.launching.processes import RankProcess
from labkit.distributed.launching.rank import Failure

# What gloo and NCCL say in a rank whose neighbour is gone: a consequence, not a cause.
CONSEQUENCES = ("Connection closed by peer", "Connection reset by peer", "Broken pipe")
COUNTERPARTS = (
    "each send, receive and collective needs its counterpart in the other ranks, in the same order."
)
# What a program says in a network of its own that wants another one.
UNREACHABLE = ("unreachable", "name resolution", "not known", "Connection refused")
OUTSIDE = (
    "Ranks have a network of their own: launch(..., outside=True) lets them reach other machines, "
    "and servers of other processes."
)
WRAPPERS = ("wrapper", "noted", "hidden")  # torch's, and the ledger's
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<name>\S+)')
OURS = re.compile(
    r"[/\\](torch|labkit|labkit_lessons|multiprocessing)[/\\]|[/\\]04_distributed[/\\]source[/\\]"
    r"|^<frozen|[/\\]threading\.py"
)


def failure(ranks: Iterable[RankProcess]) -> str | None:
    """Which rank failed first, and how; None if none did."""
    failed = [rank for rank in ranks if rank.failed]
    if not failed:
        return None
    first = min(failed, key=_order)
    if first.died is not None:
        return f"Rank {first.number} {exit_text(first.died)}, so that all ranks were ended."
    return failure_text(f"rank {first.number}", first.answer.failure)


def failure_text(name: str, failure: Failure) -> str:
    """Who raised what, with the traceback."""
    return (
        f"{name[0].upper()}{name[1:]} raised {failure.kind}: {failure.message}\n\n"
        f"Traceback of {name} (most recent call last):\n{_lines(failure)}"
    )


def lateness(ranks: Iterable[RankProcess], stacks: dict[int, str], timeout: float) -> str:
    """Which ranks have not ended in time, and where each of them waits."""
    head = f"Not all ranks ended within {timeout:g} s, so that they were ended:"
    return f"{head}\n{places(ranks, stacks)}"


def places(ranks: Iterable[RankProcess], stacks: dict[int, str]) -> str:
    """A line for each rank: where it waits, or that it has returned."""
    rows = []
    for rank in ranks:
        known = rank.number in stacks
        rows.append(
            f"rank {rank.number} {_where(stacks[rank.number]) if known else 'has returned'}"
        )
    return "\n".join(f"    {row}" for row in rows)


def ending(
    ranks: Sequence[RankProcess],
    stacks: dict[int, str],
    timeout: float,
    ledgers: Sequence[Sequence[Call]],
    closed: bool = False,
) -> str | None:
    """What is wrong with how a launch ended; None if nothing is.

    stacks    where the late ranks are
    ledgers   what each rank has called: a cause that its own error may not name
    closed    whether the ranks had a network of their own
    """
    unlike = disagreements.mismatch(ledgers)
    if failed := failure(ranks):
        last = failed.rpartition("\n")[2]
        wanted = closed and any(words in last for words in UNREACHABLE)
        return "\n\n".join(filter(None, [unlike, failed, OUTSIDE * wanted]))
    if not stacks:
        return unlike and f"{unlike} What they return is of no use: {COUNTERPARTS}"
    if unlike:
        return f"{unlike} All ranks were ended:\n{places(ranks, stacks)}"
    returned = [rank.number for rank in ranks if not rank.running]
    causes = disagreements.missing(ledgers, returned)
    lines = [cause[0].upper() + cause[1:] for cause in causes] or [f"Ranks wait: {COUNTERPARTS}"]
    return "\n".join([lateness(ranks, stacks, timeout), *lines])


def _order(rank: RankProcess) -> tuple[int, float]:
    """Causes before consequences, and among equals by time."""
    if rank.died is not None:
        return 0, 0.0
    message = rank.answer.failure.message
    return int(any(words in message for words in CONSEQUENCES)), rank.answer.moment


def exit_text(code: int) -> str:
    """How a process ended that had more to do."""
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended by itself with exit code {code}, before its function did"


def _lines(failure: Failure) -> str:
    """The traceback; the source is read here, where a notebook's cells are known."""
    frames = [traceback.FrameSummary(*frame) for frame in failure.frames]
    return "".join(traceback.format_list(frames)) + f"{failure.kind}: {failure.message}"


def _where(stack: str) -> str:
    """In a sentence where a process is, from its stack, innermost call first."""
    frames = list(FRAME.finditer(stack))
    own = next((frame for frame in frames if not OURS.search(frame["file"])), None)
    if own is None:
        return "is busy"
    summary = traceback.FrameSummary(own["file"], int(own["line"]), own["name"])
    source = f": {summary.line}" if summary.line else ""
    called = "" if own is frames[0] else f" in {_called(frames, own)}"
    return f"waits{called}, line {own['line']} of {own['name']}{source}"


def _called(frames: list[re.Match], own: re.Match) -> str:
    """The function that the learner's line has called."""
    inner = [frame["name"] for frame in frames[: frames.index(own)]]
    return next((name for name in reversed(inner) if name not in WRAPPERS), inner[-1])
