"""From the problems of the cases to the first one, where it shows, and its likely cause.

The cause is sought first among the exercise's own misconceptions, then among the slips and
patterns that any exercise can show (`labkit.checks.diagnosis.causes`).
"""

import ast
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent

from labkit.checks.compare import returned_arrays
from labkit.checks.diagnosis.causes import likely_cause
from labkit.checks.diagnosis.trials import Trial
from labkit.checks.equality import equal
from labkit.checks.expected import Outputs, expected_outputs
from labkit.checks.items import Case, Exercise, Misconception, Refused
from labkit.checks.lesson_files import lessons_of
from labkit.checks.phrasing import number_pair
from labkit.checks.problem import Problem
from labkit.checks.watch import CaseRun

# Whether an answer whose results are all 0 is still the lesson's cell, as far as its source
# tells.
#
# The cell that a lesson gives shares its lines with the solution, but for those that the learner
# replaces: these make zeros, and compute nothing. So a line that computes, and that the solution
# has not, is the learner's own.

MAKERS = frozenset(  # calls that a given line may have
    "zeros zeros_like empty empty_like full full_like len range copy clone astype int float".split()
)
HOLDERS = frozenset("append insert stack array list tuple dumps".split())  # what is in them counts


def has_own_work(id: str, answer: Callable) -> bool:
    """Whether the answer to this exercise computes what its solution does not; False if unknown."""
    try:
        return own_work(id, dedent(inspect.getsource(answer)))
    except (OSError, SyntaxError, TypeError):  # no plain function, or its source is not to be had
        return False


def own_work(id: str, source: str) -> bool:
    """The same of the source of a function; of a lambda, the source is a whole line."""
    solutions = [path.read_text("utf-8") for path in _solutions(id.partition(".")[0])]
    if not solutions or not source.startswith("def "):
        return False
    theirs = {ast.unparse(part) for text in solutions for part in _parts(text)}
    return any(_computes(part) for part in _parts(source) if ast.unparse(part) not in theirs)


def _solutions(room: str) -> Iterator[Path]:
    """The modules of the room's solutions; none for a room that the course has not."""
    for lesson in lessons_of(room):
        if lesson.solutions.exists():
            yield lesson.solutions


def _parts(text: str) -> Iterator[ast.AST]:
    """Every simple statement of a source, and what every other one asks for or goes through."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Assign() | ast.AugAssign() | ast.Return() | ast.Expr():
                yield node
            case ast.If(test=part) | ast.While(test=part) | ast.For(iter=part):
                yield part


def _computes(part: ast.AST) -> bool:
    """Whether there is more in it than zeros and what makes them."""
    match part:
        case ast.BinOp(left, ast.Add() | ast.Sub(), right) if _is_nothing(right):
            return _computes(left)
        case ast.AugAssign(value=value) if _is_nothing(value):
            return False
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name)) if name in HOLDERS:
            return any(map(_computes, part.args))
        case ast.Call(ast.Name(id=name) | ast.Attribute(attr=name)) if name in MAKERS:
            return False
        case ast.Call() | ast.BinOp() | ast.Compare() | ast.AugAssign():
            return not _is_nothing(part)
    return any(map(_computes, ast.iter_child_nodes(part)))


def _is_nothing(part: ast.AST) -> bool:
    """Whether it is 0, or 0 * x: zeros of the shape of x."""
    match part:
        case ast.Constant(value=0) | ast.BinOp(ast.Constant(value=0), ast.Mult()):
            return True
    return False


_EXPLAINED = ("value", "shape", "raised", "nan")  # kinds of problems that may have a known cause
_LAST = ("later", "cost", "unjudged")  # kinds of problems in cases whose numbers are right


@dataclass(frozen=True)
class Diagnosis:
    """The first problem, the case that it shows in, and how many cases are right."""

    problem: Problem
    run: CaseRun
    right: int


def diagnose(
    exercise: Exercise,
    runs: list[CaseRun],
    expected: list[Outputs],
    problems: list[Problem | None],
    answer: object = None,
) -> Diagnosis | None:
    """The first problem in the order of the cases, or None when every case is right.

    What is wrong comes before what is right in the case itself, and that before what is only too
    dear, or could not be judged.
    """
    place = _first_place(problems)
    if place is None:
        return None
    problem = problems[place]
    trials = _trials(exercise, runs, expected)
    if problem.kind == "stub" and runs[place].error is None and _gives_something(runs):
        problem = _none_here(problem, expected[place])
    zeros = problem.kind == "value" and all(map(_is_zero, trials))
    if zeros and not has_own_work(exercise.id, answer):  # an array of zeros, never filled
        problem = Problem("stub", "every value is still 0")
    elif problem.kind == "value" and _is_stub(exercise, trials):
        problem = Problem("stub", "it returns what the stub returns")
    elif problem.kind in _EXPLAINED:
        problem = _worded(exercise, problem, trials[place])
        problem = _located(exercise, problem, runs[place].case)
        cause = _cause(exercise, trials, problem.output)
        if cause is not None:
            problem = replace(problem, details=(*problem.details, f"Likely cause: {cause}"))
    return Diagnosis(problem, runs[place], problems.count(None))


def _gives_something(runs: list[CaseRun]) -> bool:
    """Whether the function returns more than None in some case."""
    returned = [run.returned for run in runs if run.error is None]
    several = [values if isinstance(values, tuple | list) else [values] for values in returned]
    return any(value is not None for values in several for value in values)


def _none_here(problem: Problem, expected: Outputs) -> Problem:
    """Of a function that gives None in one case, and something in another."""
    headline = f"In this case {problem.headline}"
    if len(expected) == 1 and not expected[0].ndim:
        headline += f"; it should return {number_pair(expected[0], expected[0])[1]}"
    cure = "In other cases there is a result: does a way lead past the last `return`?"
    return Problem("form", f"{headline}.", (cure,))


def _first_place(problems: list[Problem | None]) -> int | None:
    """The place of the first problem with the numbers, or else of the first one of another kind."""
    for told in (lambda kind: kind not in _LAST, lambda kind: kind == "later", bool):
        for place, problem in enumerate(problems):
            if problem is not None and told(problem.kind):
                return place
    return None


def _worded(exercise: Exercise, problem: Problem, trial: Trial) -> Problem:
    """The problem in the exercise's own words, where it has some."""
    if exercise.wording is None or problem.kind not in ("value", "shape"):
        return problem
    got, expected = trial.got[problem.output], trial.expected[problem.output]
    output = exercise.outputs[problem.output]
    headline = exercise.wording(trial.case.args, output, got, expected)
    return replace(problem, headline=headline, details=())


def _located(exercise: Exercise, problem: Problem, case: Case) -> Problem:
    """The problem with what the exercise knows of the place of its first wrong element."""
    if exercise.locate is None or problem.index is None:
        return problem
    where = exercise.locate(case.args, exercise.outputs[problem.output], problem.index)
    return replace(problem, details=(*problem.details, *where))


def _trials(exercise: Exercise, runs: list[CaseRun], expected: list[Outputs]) -> list[Trial]:
    return [
        Trial(run.case, returned_arrays(exercise, run), outputs, run.error)
        for run, outputs in zip(runs, expected, strict=True)
    ]


def _is_zero(trial: Trial) -> bool:
    return all(values is not None and not values.any() for values in trial.got)


def _is_stub(exercise: Exercise, trials: list[Trial]) -> bool:
    """Whether all results are those of the lesson's stub."""
    return exercise.stub is not None and _fits(
        exercise, Misconception("", exercise.stub), trials, None
    )


def _cause(exercise: Exercise, trials: list[Trial], output: int | None) -> str | None:
    """A sentence; `output` is the position of the wrong output, None where no one is known."""
    # A kernel that was stopped has no values: its case speaks for and against no wrong idea.
    trials = [trial for trial in trials if not isinstance(trial.error, Refused)]
    # An idea that explains all outputs comes before one that explains the wrong one alone.
    for place in (None, output) if len(exercise.outputs) > 1 else (output,):
        for misconception in exercise.misconceptions:
            if _fits(exercise, misconception, trials, place):
                return misconception.sentence
    for place in _also_wrong(exercise, trials, output):
        for misconception in exercise.misconceptions:
            alone = _keeps(exercise, misconception, trials, output)
            if not alone and _fits(exercise, misconception, trials, place):
                return misconception.sentence
    return likely_cause(exercise, trials, output)


def _also_wrong(exercise: Exercise, trials: list[Trial], output: int | None) -> list[int]:
    """The positions of further outputs that are wrong: what explains one is behind the first.

    A truth value is explained by too much.
    """
    if output is None or exercise.groups:
        return []
    others = range(output + 1, len(exercise.outputs))
    return [
        place
        for place in others
        if trials[0].expected[place].dtype.kind != "b"
        and not all(equal(one.got[place], one.expected[place], exercise) for one in trials)
    ]


def _keeps(
    exercise: Exercise, misconception: Misconception, trials: list[Trial], output: int
) -> bool:
    """Whether a misconception leaves an output as it should be."""
    for trial in trials:
        idea = _attempt(exercise, misconception.function, trial.case)
        if isinstance(idea, Exception) or not equal(idea[output], trial.expected[output], exercise):
            return False
    return True


def _fits(
    exercise: Exercise, misconception: Misconception, trials: list[Trial], output: int | None
) -> bool:
    """Whether a misconception's results are the learner's, case by case.

    After an exception no output is known to be the wrong one: then all outputs must agree.
    """
    agreeing = set(range(len(exercise.outputs))) if output is None else {output}
    for group in exercise.groups:
        if output in group:
            agreeing = set(group)
    needed = len(agreeing)
    computed = False
    for trial in trials:
        idea = _attempt(exercise, misconception.function, trial.case)
        if not isinstance(idea, Exception):
            computed = True
            if exercise.dtype == "same":
                idea = [a.astype(b.dtype) for a, b in zip(idea, trial.expected, strict=True)]
            agreeing = {p for p in agreeing if equal(trial.got[p], idea[p], exercise)}
        elif type(idea) is not type(trial.error):
            return False
        if len(agreeing) < needed:
            return False
    return computed


def _attempt(exercise: Exercise, function: Callable, case: Case) -> Outputs | Exception:
    try:
        return expected_outputs(exercise, function, case)
    except Exception as error:  # some wrong ideas do not fit some shapes
        return error
