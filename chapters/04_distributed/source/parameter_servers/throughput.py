"""Gradients per second that workers of unlike speed bring, by formula.

With t_i seconds for a step of worker i, n workers, and s = max t_i of the slowest:

    synchronous    n / s                all wait for the slowest in every step
    asynchronous   sum of 1 / t_i       nobody waits
    bounded        n / s in the end     see below

Under a bound b, worker i begins its step j (j = 1, 2, ...) when its step j - 1 is done, and when
the slowest has finished j - 1 - b steps, at (j - 1 - b) s. Since t_i <= s, the later of these two
decides alone, and step j ends at

    max(j t_i, (j - 1 - b) s + t_i)

So by the moment T, worker i has finished min(T / t_i, (T - t_i) / s + 1 + b) steps, both rounded
down: at first at its own pace, then at the slowest's pace, with a lead that the bound allows. The
lead is won only once; over a long time, the rate is n / s whatever the bound.

The formulas leave messages and the servers' work out. Lesson parameter_servers.
"""

import math
from collections.abc import Sequence

from labkit.errors import whole

EXACT = 1e-9  # a step that ends at the moment T itself counts, whatever the division rounds


def synchronous(seconds: Sequence[float]) -> float:
    """Gradients per second if all wait for all; seconds [n] for a step of each worker."""
    _refuse_wrong(seconds)
    return len(seconds) / max(seconds)


def asynchronous(seconds: Sequence[float]) -> float:
    """Gradients per second if nobody waits; seconds [n] for a step of each worker."""
    _refuse_wrong(seconds)
    return sum(1 / one for one in seconds)


def bounded(seconds: Sequence[float], bound: int, duration: float = math.inf) -> float:
    """Gradients per second if nobody begins with a lead of more than `bound` steps.

    seconds    for a step of each worker [n]
    duration   seconds over which they are counted, from the begin on: the lead that the fast
               workers win at first weighs less, the longer it is

    Raises ValueError for seconds or a duration that are not above 0, and for a bound below 0.
    """
    _refuse_wrong(seconds)
    whole("throughput: bound", bound, 0)
    if not duration > 0:
        raise ValueError(f"throughput: duration is a number of seconds above 0, not {duration!r}.")
    slowest = max(seconds)
    if duration == math.inf:
        return len(seconds) / slowest
    counts = [_finished(own, slowest, bound, duration) for own in seconds]
    return sum(counts) / duration


def _finished(own: float, slowest: float, bound: int, duration: float) -> int:
    """Steps that one worker has finished by then."""
    if own > duration:
        return 0
    at_its_own_pace = math.floor(duration / own + EXACT)
    behind_the_bound = math.floor((duration - own) / slowest + EXACT) + 1 + bound
    return min(at_its_own_pace, behind_the_bound)


def _refuse_wrong(seconds: Sequence[float]) -> None:
    if not seconds or not all(0 < one < math.inf for one in seconds):
        raise ValueError(
            f"throughput: seconds has a number above 0 for each worker, not {list(seconds)}."
        )
