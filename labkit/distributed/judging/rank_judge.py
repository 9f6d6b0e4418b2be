"""The judge of an exercise in ranks: runs a learner's function in processes, and compares."""

import copy
import inspect
import linecache
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.checks.course_version import course_functions
from labkit.checks.equality import equal
from labkit.checks.items import (
    CostLimitExceeded,
    Refused,
    Unsolved,
    Unsteady,
    refuse_no_function,
)
from labkit.checks.judge import ANSWERS
from labkit.checks.phrasing import refuse_other_parameters
from labkit.distributed.errors import LaunchError
from labkit.distributed.judging.rank_results import (
    as_outputs,
    first_array,
    other_type,
    returned,
)
from labkit.distributed.judging.traffic import Traffic
from labkit.distributed.judging.verdicts import verdict
from labkit.distributed.launching.known_classes import read_known

if TYPE_CHECKING:
    from labkit.distributed.judging.refereed_run import RefereedRun

ByRank = Sequence[tuple]
AGAIN = (
    "This case calls the function at least twice in the same ranks, with other numbers: is "
    "something kept from an earlier call?"
)


class RepeatedInputs(tuple):
    """What the ranks get for a first call, and in `then` what they get for each later one."""

    then: Sequence[ByRank] = ()


@dataclass(frozen=True)
class RankJudge:
    """Runs a learner's function in ranks; the fields are those of `rank_exercise`."""

    solution: Callable
    oracle: Callable
    demand: Callable[[Traffic], str | None] | None
    results: tuple[str, ...]
    in_place: bool
    given: Callable[..., tuple] | None
    forbidden: tuple[str, ...]
    tolerance: Any

    def prepared(self, idea: Callable[[ByRank], Sequence[Any]]) -> Callable:
        """An oracle or a wrong idea as the checks call it, with what stands in a case."""

        def outputs(inputs: ByRank) -> tuple[np.ndarray, ...]:
            return as_outputs(idea(inputs), self.results)

        return outputs

    def adapter(self, answer: object) -> Callable:
        """A function of the ranks' inputs that runs the answer in processes; or Refused."""
        refuse_no_function(answer)
        refuse_other_parameters(answer, self.solution)
        packed = self._packed(answer, own=self.solution)
        endless: list[Refused] = []  # once is enough: each would take its whole budget again

        def judged(inputs: ByRank) -> tuple[np.ndarray, ...]:
            if endless:
                raise endless[0]
            return self.judged(packed, inputs, endless)

        return judged

    def plain(self, answer: Callable, inputs: ByRank) -> tuple[np.ndarray, ...]:
        """What a function gives back in all ranks, whatever it uses; Refused for a hang."""
        lenient = replace(self, forbidden=(), in_place=True)
        run = lenient._run(self._packed(answer, own=None), inputs, [])
        return returned(_values(run), self._expected(inputs), self.results)

    def judged(self, packed: bytes, by_rank: ByRank, endless: list) -> tuple[np.ndarray, ...]:
        """What a function returns; CostLimitExceeded where it is right, and `demand` finds fault.

        Unsteady where it is right, and its type is not, or a later call's result.
        """
        run = self._run(packed, by_rank, endless)
        expected = self._expected(by_rank)
        values = _values(run)
        outputs = returned(values, expected, self.results)
        if sentence := self._other_type(values, expected, by_rank):
            raise Unsteady(sentence)
        if not self._right(outputs, expected):
            if all(seat.ended.untouched for seat in run.referee.seats):
                raise Unsolved("the function returns None")
        elif isinstance(by_rank, RepeatedInputs):
            self._refuse_kept(run, by_rank.then, expected, outputs)
        elif self.demand is not None:
            sentence = self.demand(run.referee.traffic(by_rank))
            if sentence:
                raise CostLimitExceeded(sentence)
        return outputs

    def _other_type(self, got: Sequence, expected: Sequence, by_rank: ByRank) -> str | None:
        """Which result is right but for its type, in a case whose type is not float32; or None."""
        name, kind = first_array(by_rank[0], self._names)
        if kind == np.float32:
            return None
        for rank, (value, right) in enumerate(zip(got, expected, strict=True)):
            if right is None:
                continue
            several = len(self.results) > 1
            pairs = zip(value, right, strict=True) if several else [(value, right)]
            for result, (one, other) in zip(self.results, pairs, strict=True):
                found = other_type(one, other, kind)
                if found is not None:
                    return (
                        f"`{result}` of rank {rank} is {found}; it should be {kind}, as `{name}` "
                        "is."
                    )
        return None

    def _refuse_kept(
        self, run: "RefereedRun", later: Sequence[ByRank], expected: Sequence[Any], outputs: tuple
    ) -> None:
        """Raises Unsteady where a later call in the same ranks shows that something is kept."""
        for place, by_rank in enumerate(later):
            if not self._right_again(run, place, by_rank):
                which = "second" if place == 0 else "third"
                other = "numbers" if place == 0 else "sizes and numbers"
                raise Unsteady(
                    f"In the {which} call in the same ranks, with other {other}, the result is "
                    "wrong: something is kept from an earlier call.",
                    "What is made outside the function, such as a list or a buffer, lives on.",
                )
        after = [read_known(seat.ended.after) for seat in run.referee.seats]
        for one, other in zip(returned(after, expected, self.results), outputs, strict=True):
            if not np.array_equal(one, other, equal_nan=other.dtype.kind == "f"):
                raise Unsteady(
                    "A later call in the same ranks, with other numbers, changes what the first "
                    "one has returned: something is kept, and used again.",
                    "Each call has to return a tensor of its own.",
                )

    def _right_again(self, run: "RefereedRun", place: int, by_rank: ByRank) -> bool:
        """Whether the call number `place` after the first one has the right results."""
        again = [read_known(seat.ended.again[place]) for seat in run.referee.seats]
        expected = self._expected(by_rank)
        try:
            return self._right(returned(again, expected, self.results), expected)
        except Refused:  # of another form than the first one's
            return False

    def _expected(self, by_rank: ByRank) -> Sequence[Any]:
        return self.oracle(copy.deepcopy(by_rank))

    def _right(self, outputs: tuple[np.ndarray, ...], expected: Sequence[Any]) -> bool:
        wanted = as_outputs(expected, self.results)
        pairs = zip(outputs, wanted, strict=True)
        return all(equal(one, other, self.tolerance) for one, other in pairs)

    def _run(self, packed: bytes, by_rank: ByRank, endless: list) -> "RefereedRun":
        """Runs the ranks to their end; Refused for whatever goes wrong in between."""
        from labkit.distributed.judging.refereed_run import run_ranks  # loads PyTorch

        run = run_ranks(self._jobs(packed, by_rank))
        for rank, printed in enumerate(run.printed):
            for line in printed.splitlines():
                print(f"[rank {rank}] {line}")
        seats = run.referee.seats
        if found := verdict(run.referee, self._names, self.forbidden):
            if any(seat.ended and seat.ended.endless for seat in seats):
                endless.append(found.refused())
            if isinstance(by_rank, RepeatedInputs):
                found = found._replace(details=(*found.details, AGAIN))
            raise found.refused()
        return run

    def _jobs(self, packed: bytes, by_rank: ByRank) -> list:
        from labkit.distributed.judging.refereed_rank import RefereedJob

        ranks = len(by_rank)
        calls = [by_rank, *by_rank.then] if isinstance(by_rank, RepeatedInputs) else [by_rank]
        sources = _sources(packed)
        return [
            RefereedJob(
                packed,
                tuple(map(pickle.dumps, inputs)),
                rank,
                ranks,
                self.in_place,
                self.forbidden,
                ANSWERS,
                sources,
                dict(os.environ),
            )
            for rank, inputs in enumerate(zip(*calls, strict=True))
        ]

    def _packed(self, answer: Callable, own: Callable | None) -> bytes:
        """The function and what goes with it; Refused where it cannot go to other processes.

        own   the course's answer, which it may not call
        """
        from labkit.distributed.launch import packed

        try:
            alone = packed(answer, ())
            known = course_functions("distributed", own)
            free = tuple(one for one in known if _is_used(one, alone) and _can_travel(one))
            return packed(answer, (free, self.given, own))
        except LaunchError as error:
            raise Refused(str(error)) from None

    @property
    def _names(self) -> list[str]:
        """Of the function's inputs."""
        return list(inspect.signature(self.solution).parameters)[2:]


def _values(run: "RefereedRun") -> list:
    """What each rank returned."""
    return [read_known(seat.ended.value) for seat in run.referee.seats]


def _is_used(function: Callable, packed: bytes) -> bool:
    """Whether an answer may call a function: then its name is in what the answer travels as."""
    return getattr(function, "__name__", "").encode() in packed


def _can_travel(function: Callable) -> bool:
    """Whether a function that an earlier check handed on could be in use in a rank at all."""
    import cloudpickle

    try:
        cloudpickle.dumps(function)
    except Exception:
        return False
    return True


def _sources(packed: bytes) -> dict[str, list[str]]:
    """The lines of those files that only this process has and the function is from."""
    return {
        file: list(entry[2])
        for file, entry in list(linecache.cache.items())
        if len(entry) == 4 and file.encode() in packed and not os.path.exists(file)
    }
