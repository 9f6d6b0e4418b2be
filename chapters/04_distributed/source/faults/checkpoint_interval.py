"""How often to write a checkpoint: seldom, and a fault costs much; often, and the writing does.

    moments = interruptions(54 * 86_400, count=419)       # in 54 days, anywhere
    best_interval(write=60, between=54 * 86_400 / 419)    # seconds of work, by formula

Lesson faults.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def best_interval(write: float, between: float) -> float:
    """Seconds of work T between two checkpoints that cost least: T + C = sqrt(2 C M).

    write     C, seconds that a checkpoint takes
    between   M, mean seconds from one fault to the next; much longer than C

    It is where both terms of `predicted_share` are equal. Nothing is taken for the restart after a
    fault: it costs the same, however long T is. Others have

        T = sqrt(2 C M)                                        J. W. Young 1974
        T = sqrt(2 C M) (1 + sqrt(x) / 3 + x / 9) - C,         J. T. Daly 2006, for C < 2 M
            with x = C / (2 M)

    so ours is Daly's without its two smaller terms (Young: "A first order approximation to the
    optimum checkpoint interval", Communications of the ACM 17(9), doi:10.1145/361147.361115.
    Daly: "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
    Generation Computer Systems 22(3), doi:10.1016/j.future.2004.11.016; the tests compare with
    the three optima that its figures name). Raises ValueError where a time is not above 0, or
    faults come too soon for any checkpoint.
    """
    _refuse_nonsense(write, between)
    if between <= write / 2:
        raise ValueError(
            f"With a fault every {between:g} s, no checkpoint of {write:g} s gets finished: make "
            "checkpoints shorter, or faults rarer."
        )
    return sqrt(2 * write * between) - write


def predicted_share(every: float, write: float, between: float) -> float:
    """The share of all time that checkpoints and faults cost: C / (T + C) + (T + C) / (2 M).

    A round of work and writing takes T + C seconds. A fault costs half of one, on average; that is
    a little too much where a round is nearly as long as M. Raises ValueError where a time is not
    above 0.
    """
    _refuse_nonsense(every, write, between)
    rounds = every + write
    return write / rounds + rounds / (2 * between)


def interruptions(seconds: int, count: int, seed: int = 0) -> np.ndarray:
    """Moments of so many faults [count], rising: different whole seconds from 1 to `seconds`.

    Each falls anywhere, as if every machine failed at any moment alike. Raises ValueError where
    there are not that many seconds.
    """
    import numpy as np

    _refuse_nonsense(seconds)
    moments = np.random.default_rng(seed).choice(seconds, count, replace=False)
    return np.sort(moments) + 1


def _refuse_nonsense(*seconds: float) -> None:
    if min(seconds) <= 0:
        raise ValueError(f"Times are above 0 seconds, not {min(seconds):g}.")
