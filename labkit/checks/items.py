"""What an author writes: an exercise, a prediction or a quiz. A good exercise has

* at least five cases: all sizes 1, prime, ragged, non-square, several blocks; small, since a check
  answers within a second;
* asymmetric data: on ones and on symmetric matrices a wrong index gives the right sum;
* at least four misconceptions, each right on at least one case or on symmetric data, each with
  a sentence that names the cause and not the cure; they may raise, as the learner's would;
* hints from "where to look" to "almost the line"; never the solution itself.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from labkit.provenance import Quantity


class Refused(Exception):
    """Raised by an adapter: its text is the sentence that the learner reads.

    details   paragraphs and `Code` that follow it
    """

    def __init__(self, sentence: str = "", *details: object) -> None:
        super().__init__(sentence)
        self.details = details


def refuse_no_function(answer: object) -> None:
    """Raises Refused for what cannot be called, as an adapter does."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")


class Unsolved(Refused):
    """The same where there is no answer yet: "the kernel changes nothing"."""


class NotJudged(Refused):
    """The same where nothing can be said of the answer: a tool is missing, or did not finish."""


class CostLimitExceeded(Refused):
    """The same where only the cost is wrong: what is wrong in another case comes first."""


class AnswerLimitExceeded(CostLimitExceeded):
    """The same where the cost is that of the answer itself, whatever the case."""


class Unsteady(Refused):
    """The same where the results are right, and not when the case runs under other conditions."""


@dataclass(frozen=True)
class Case:
    """One call of the learner's function: `f(*args)`. `name` is shown: "prime sizes"."""

    name: str
    args: tuple

    def __post_init__(self) -> None:
        if not isinstance(self.args, tuple):
            raise ValueError(f"Case {self.name!r}: args must be a tuple, as in (x,) or (x, w).")


@dataclass(frozen=True)
class Misconception:
    """A wrong idea: a function like the oracle, and the sentence for whoever computes the same.

    For one output, the learner's values must equal its values on every case.
    """

    sentence: str
    function: Callable


@dataclass(frozen=True)
class Exercise:
    """One function to write, and everything that is needed to judge it.

    id              "gpu.linear_backward": chapter, dot, name; the same in prose, stub and test
    oracle          the right function; its signature is the learner's signature
    cases           called with a seeded np.random.Generator; gives the cases, the same every time
    hints           from the first nudge to almost the line
    misconceptions  tried in order; the first that matches is the diagnosis
    forbidden       dotted names the learner may not call: functions ("numpy.einsum"), methods
                    ("numpy.ndarray.dot"), whole modules ("torch"); "@" forbids the operator.
                    Any call counts that the learner's code leads to, also from inside a library
    cost            called after success; rows (label, Quantity) of what the solution costs
    outputs         the names of what is returned; several names mean a tuple, in this order
    rtol, atol      an element is right when |got - expected| <= atol + rtol * |expected|
    dtype           None: the oracle's kind (float, int, bool), of any width; "float32" and the
                    like: exactly this; "float", "int", "bool": this kind; "any": not looked at;
                    "same": that of the oracle's result, which may follow the inputs.
                    A tuple has one of these for each output
    adapter         for what is no plain function (a kernel): adapter(f) gives a callable with the
                    oracle's signature that launches f; may raise `Refused`, a sentence
    memory          memory(*args) -> the bytes that a call may hold at a time, where that is the
                    point of the exercise; None: they are not looked at
    ahead           with an adapter: ahead(f, cases) may prepare what the cases need of f; it says
                    nothing, and raises nothing
    plain           with an adapter: plain(f, *args) gives what f computes, and judges nothing
    fallback        what `check` hands on when the answer is wrong, if that is not the oracle
                    itself (with an adapter: a working kernel, the text of a working module)
    plain_python    with an adapter: f is a Python function all the same, and its work is limited
    locate          with an adapter: locate(args, output, index) -> paragraphs that say where in
                    the run the first wrong element shows
    wording         wording(args, output, got, expected) -> the headline for an output whose values
                    or shape are wrong, where a person would not speak of its numbers
    stub            what the lesson's stub computes: an answer that computes the same in every case
                    is not solved yet, and not wrong (nor is one whose values are all 0,
                    if it computes nothing that the solution does not)
    groups          outputs, by their places, that a misconception has to explain all together,
                    such as the results of all ranks; an output in none of them stands alone
    shown           names of arguments, rows of whole numbers, that are printed themselves with a
                    case, where they are few, since a reader computes with them
    general_causes  False where the results are choices, places or small counts: slips that any
                    exercise can show explain those by chance, so only the misconceptions are
                    tried, and what is kept from call to call
    """

    id: str
    oracle: Callable
    cases: Callable[[np.random.Generator], Iterable[Case]]
    hints: tuple[str, ...]
    misconceptions: tuple[Misconception, ...] = ()
    forbidden: tuple[str, ...] = ()
    cost: Callable[[], Iterable[tuple[str, Quantity]]] | None = None
    outputs: tuple[str, ...] = ("result",)
    rtol: float = 1e-4
    atol: float = 1e-6
    dtype: str | tuple[str | None, ...] | None = None
    memory: Callable[..., int] | None = None
    adapter: Callable[[Callable], Callable] | None = None
    ahead: Callable[[Callable, list[Case]], None] | None = None
    plain: Callable | None = None
    fallback: Callable | str | None = None
    plain_python: bool = False
    locate: Callable[[tuple, str, tuple[int, ...]], list] | None = None
    wording: Callable[[tuple, str, np.ndarray, np.ndarray], str] | None = None
    stub: Callable | None = None
    groups: tuple[frozenset[int], ...] = ()
    shown: tuple[str, ...] = ()
    general_causes: bool = True

    def __post_init__(self) -> None:
        _require_id(self.id)
        for name in ("hints", "misconceptions", "forbidden", "outputs", "shown"):
            if not isinstance(getattr(self, name), tuple):
                raise ValueError(f"{self.id}: {name} must be a tuple, as in (one,) or (one, two).")
        if not self.outputs or not self.hints:
            raise ValueError(f"{self.id}: an exercise needs at least one output and one hint.")
        if isinstance(self.dtype, tuple) and len(self.dtype) != len(self.outputs):
            raise ValueError(f"{self.id}: dtype needs one entry for each of the outputs.")

    def dtype_of(self, output: int) -> str | None:
        """What `dtype` asks of the output at this position."""
        return self.dtype[output] if isinstance(self.dtype, tuple) else self.dtype


@dataclass(frozen=True)
class Prediction:
    """A number the learner commits to before any result is shown.

    `low` and `high` bound what is possible at all, in `unit`; outside, the value is doubted.
    """

    id: str
    question: str
    unit: str
    low: float
    high: float

    def __post_init__(self) -> None:
        _require_id(self.id)
        if not self.low <= self.high:
            raise ValueError(f"{self.id}: low ({self.low}) must not exceed high ({self.high}).")


@dataclass(frozen=True)
class Quiz:
    """One question with lettered options: `options={"a": "...", "b": "..."}, answer="b"`.

    `why` has a sentence for every option, which does not give the right one away.
    """

    id: str
    question: str
    options: Mapping[str, str]
    answer: str
    why: Mapping[str, str]

    def __post_init__(self) -> None:
        _require_id(self.id)
        if self.answer not in self.options:
            raise ValueError(f"{self.id}: the answer {self.answer!r} is not one of the options.")
        if set(self.why) != set(self.options):
            raise ValueError(f"{self.id}: `why` needs exactly one sentence for each option.")


def _require_id(id: str) -> None:
    chapter, _, name = id.partition(".")
    if not (chapter.isidentifier() and name):
        raise ValueError(f"{id!r} is no id: write chapter, dot, name, as in 'gpu.linear_backward'.")
