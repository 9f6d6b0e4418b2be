"""A learner's stopwatch, held against a machine that only pretends: exercise distributed.compare.

    judged(answer)(t1, t2, rounds, x, y1, y2) -> [first, second]; [-1, -1] for "not the same"

The machine has a clock of its own, so no verdict depends on how fast or busy the real one is. It
does what real ones do: the first call of each function takes much longer (something compiles), a
call comes back before its work is done, one call is disturbed and one is lucky, and for a while
another program makes all calls slower. No two calls of a function take quite the same time, so that
a median shows of how many calls it is. Lesson fine_tuning_and_compilers.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function

NAN_PASSES = (
    "A result that is NaN passes: NaN > 0.001 is False. "
    "Ask whether all numbers agree, not whether one differs."
)
NAN_EQUALS = (
    "Both results are NaN at the same place, and there are times all the same: NaN agrees with "
    "nothing, not even with NaN. np.allclose has equal_nan=False for that."
)
DIFFERENT = np.array([-1.0, -1.0])
COMPILING = 50.0  # times of a call, before the first one
LAUNCH = 0.01  # of a call: how soon it comes back
SHARED = 3.0  # times as slow, while another program runs
DISTURBED = 40.0
LUCKY = 0.1
UNLIKE = 1e-4  # of a call: by so much at most do undisturbed calls differ
GOLDEN = 0.618034  # its multiples fall on other places between two whole numbers each time


class Machine:
    """Two functions, a clock and a wait, which all know only each other.

    t1, t2   seconds of each function's work when nothing disturbs it
    rounds   how often each is to be timed
    y1, y2   [n]: what the two return for x[n]
    """

    def __init__(
        self, t1: float, t2: float, rounds: int, x: np.ndarray, y1: np.ndarray, y2: np.ndarray
    ) -> None:
        self._seconds = (t1, t2)
        self._rounds = rounds
        self._x = x.copy()
        self._y = (y1, y2)
        self._now = 100.0
        self._pending = 0.0
        self._calls = [0, 0]
        self._took = ([], [])  # seconds of each call, without what compiles

    @property
    def calls(self) -> tuple[int, int]:
        """How often each of the two was called."""
        return tuple(self._calls)

    def median_of(self, which: int, calls: int) -> float:
        """Seconds: the median of a function's last calls, so many of them."""
        return float(np.median(self._took[which][-calls:]))

    def middles_of(self, which: int, calls: int) -> list[float]:
        """Seconds: the two in the middle of a function's last calls, an even number of them."""
        return sorted(self._took[which][-calls:])[calls // 2 - 1 : calls // 2 + 1]

    def first(self, x: np.ndarray) -> np.ndarray:
        """Starts the first function's work and returns its result."""
        return self._call(0, x)

    def second(self, x: np.ndarray) -> np.ndarray:
        """Starts the second function's work and returns its result."""
        return self._call(1, x)

    def clock(self) -> float:
        """Seconds; it reads the time and waits for nothing."""
        return self._now

    def wait(self) -> None:
        """Comes back when all work that was started is done."""
        self._now += self._pending
        self._pending = 0.0

    def _call(self, which: int, x: np.ndarray) -> np.ndarray:
        if np.shape(x) != self._x.shape or not np.array_equal(x, self._x):
            raise Refused("A function is called with another input than `x`: both get the same.")
        usual = self._seconds[which]
        if self._calls[which] == 0:
            self._now += COMPILING * usual
        unlike = UNLIKE * (GOLDEN * self._calls[which] % 1)
        work = usual * self._slowness(which) * (1 + unlike)
        self._took[which].append(LAUNCH * usual + work)
        self._calls[which] += 1
        self._now += LAUNCH * usual
        self._pending += work
        return self._y[which].copy()

    def _slowness(self, which: int) -> float:
        """What befalls this call: the fourth of each function is disturbed, or lucky.

        The other program runs for a little more than half of one function's calls, in the second
        half of all. Called in turn, each function has a quarter of its calls there.
        """
        if self._rounds >= 5 and self._calls[which] == 3:
            return DISTURBED if which == 0 else LUCKY
        begin = 2 + self._rounds + 1  # behind two calls to warm up
        end = begin + self._rounds // 2 + 2
        shared = begin <= sum(self._calls) < end
        return SHARED if shared and self._rounds >= 9 else 1.0


def judged(answer: object) -> Callable[..., np.ndarray]:
    """The learner's two medians on a pretended machine; Refused for what is no such pair."""
    refuse_no_function(answer)

    def run(
        t1: float, t2: float, rounds: int, x: np.ndarray, y1: np.ndarray, y2: np.ndarray
    ) -> np.ndarray:
        machine = Machine(t1, t2, rounds, x, y1, y2)
        given = x.copy()
        result = answer(machine.first, machine.second, given, rounds, machine.clock, machine.wait)
        if not np.array_equal(given, x):
            raise Refused("The function changes its input `x`.")
        if result is None:
            if machine.calls == (0, 0):
                raise Unsolved("neither function is called, and nothing is returned")
            return DIFFERENT
        if isinstance(result, bool | np.bool_):
            raise Refused(
                f"The result is two numbers, or None where they differ; this is {result}."
            )
        if not np.isfinite(y2).all():
            raise Refused(NAN_PASSES if np.isfinite(y1).all() else NAN_EQUALS)
        _require_rounds(machine.calls, rounds)
        pair = _pair(result)
        _require_as_many(pair, machine, rounds)
        return pair

    return run


def unjudged(
    answer: Callable,
    t1: float,
    t2: float,
    rounds: int,
    x: np.ndarray,
    y1: np.ndarray,
    y2: np.ndarray,
) -> np.ndarray:
    """What an answer returns on the same machine, without a word on anything else."""
    machine = Machine(t1, t2, rounds, x, y1, y2)
    result = answer(machine.first, machine.second, x, rounds, machine.clock, machine.wait)
    return DIFFERENT if result is None else np.asarray(result, float)


def _require_rounds(calls: tuple[int, int], rounds: int) -> None:
    """One call says nothing of the others."""
    for name, count in zip(("first", "second"), calls, strict=True):
        if 0 < count < rounds:
            raise Refused(f"`{name}` is called {count} times, and there are {rounds} rounds.")


def _require_as_many(pair: np.ndarray, machine: Machine, rounds: int) -> None:
    """A median of one call too many, or too few, is no time of any one call: here it shows."""
    if rounds % 2 == 0:
        _require_mean_of_middles(pair, machine, rounds)
    if rounds < 3 or rounds % 2 == 0:
        return
    for which, name in enumerate(("first", "second")):
        for calls in (rounds - 1, rounds + 1):
            if np.isclose(pair[which], machine.median_of(which, calls), rtol=1e-9, atol=0):
                said = f"is the median of {calls} calls; there are {rounds} rounds."
                raise Refused(f"The time of `{name}` {said}")


def _require_mean_of_middles(pair: np.ndarray, machine: Machine, rounds: int) -> None:
    """Of an even number of calls, one of the two in the middle is not yet the median."""
    for which, name in enumerate(("first", "second")):
        for seconds in machine.middles_of(which, rounds):
            if np.isclose(pair[which], seconds, rtol=1e-9, atol=0):
                said = "is one of the two middle values: the median is their mean."
                raise Refused(f"Of {rounds} rounds, the time of `{name}` {said}")


def _pair(result: object) -> np.ndarray:
    try:
        pair = np.asarray(result, dtype=float)
    except (TypeError, ValueError):
        raise Refused("The result is two numbers: seconds of `first`, and of `second`.") from None
    if pair.shape != (2,):
        raise Refused("The result is two numbers: seconds of `first`, and of `second`.")
    return pair
