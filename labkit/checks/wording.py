"""The messages of `check`: one function for each way a check can end."""

import inspect
from collections.abc import Callable

from labkit.checks.diagnose import Diagnosis
from labkit.checks.exercise import Case, Exercise
from labkit.checks.phrasing import case_text, line_blocks, short
from labkit.checks.render import Code, Message, Table
from labkit.checks.watch.guard import Hit
from labkit.checks.watch.run import Outcome


def unfit(exercise: Exercise, f: object, cases: list[Case]) -> Message | None:
    """What can be said before `f` is called at all."""
    call, cure = f'`check("{exercise.id}", f)`', ()
    if f is None:
        headline, cure = f"{call} needs your function; it was given None.", (pointer(exercise),)
    elif exercise.adapter is not None:  # it knows what it can launch
        return None
    elif not callable(f):
        kind = type(f).__name__
        headline = f"{call} needs the function itself; it was given a value of type {kind}."
        cure = ("Write the function's name without parentheses behind it.",)
    elif isinstance(f, type):
        headline = f"{call} needs a function; it was given the class {f.__name__}."
    elif inspect.iscoroutinefunction(f):
        headline = "The function is defined with `async def`; write `def`."
    else:
        return _wrong_parameters(exercise, f, cases)
    return Message("Look again", headline, cure)


def _wrong_parameters(exercise: Exercise, f: Callable, cases: list[Case]) -> Message | None:
    try:
        parameters, wanted = inspect.signature(f), inspect.signature(exercise.oracle)
    except (TypeError, ValueError):  # functions written in C have none
        return None
    for case in cases:
        try:
            parameters.bind(*case.args)
        except TypeError as error:
            headline = f"The function cannot be called as `f{_names_only(wanted)}`: {error}."
            yours = f"Yours is defined as `f{_names_only(parameters)}`."
            return Message("Look again", headline, (yours,))
    return None


def _names_only(parameters: inspect.Signature) -> str:
    plain = [p.replace(annotation=p.empty) for p in parameters.parameters.values()]
    return short(str(inspect.Signature(plain)), 90)


def solved(exercise: Exercise, outcomes: list[Outcome]) -> Message:
    """The function is right: the cases, what it printed, what it costs."""
    names = ", ".join(outcome.case.name for outcome in outcomes)
    checked = f"Checked on {len(outcomes)} case{'s' * (len(outcomes) != 1)}: {names}."
    body = (checked, *_prints(outcomes[0]), *_costs(exercise))
    return Message("Right", f"{exercise.id} is solved.", body)


def _costs(exercise: Exercise) -> list[str | Table]:
    if exercise.cost is None:
        return []
    try:
        rows = tuple((str(label), str(quantity)) for label, quantity in exercise.cost())
    except Exception as error:  # the answer is right all the same
        return [f"What it costs could not be worked out ({type(error).__name__})."]
    return ["What it costs:", Table(rows)]


def wrong(exercise: Exercise, diagnosis: Diagnosis) -> Message:
    """The first problem, its likely cause, and the case it shows in."""
    problem, outcome, right = diagnosis
    if problem.kind == "stub":  # nothing is wrong, there is only nothing yet
        headline = f"{exercise.id} is not solved yet: {problem.headline}."
        return Message("Not yet", headline, (pointer(exercise),))
    count = {0: "", 1: " One case is right."}.get(right, f" {right} cases are right.")
    case = f"Case: {case_text(exercise.oracle, outcome.case)}.{count}"
    return _again(exercise, problem.headline, *problem.details, case, *_prints(outcome))


def endless(exercise: Exercise, outcome: Outcome, idle: bool) -> Message:
    """The time was up."""
    headline = "The function does not return."
    where = line_blocks(outcome.line, "It was stopped in")
    why = "Look for a loop whose condition never becomes false, or for far too many steps."
    if idle:
        why = "It waits for something, such as `input` or `sleep`."
    case = f"Case: {case_text(exercise.oracle, outcome.case)}."
    return _again(exercise, headline, *where, why, case, *_prints(outcome))


def refused_call(exercise: Exercise, hit: Hit) -> Message:
    """A call that the exercise forbids."""
    headline = {
        "oracle": "The function calls the course's own answer; this exercise asks you to write it.",
        "escape": f"The function calls `{hit.name}`, which disturbs the check; leave it out.",
        "forbidden": f"The function uses `{hit.name}`; this exercise asks you to do without it.",
    }[hit.kind]
    return _again(exercise, headline, *line_blocks(hit.line))


def meddled(exercise: Exercise) -> Message:
    """After the run the course's own answer is no longer what it was before."""
    headline = "The function changes something that the course's own answer needs, such as NumPy."
    cure = "Leave modules as they are. Restart the kernel to repair them."
    return _again(exercise, headline, cure)


def interrupted(name: str) -> Message:
    """Ctrl-C, or the stop button."""
    headline = f"The check of {name} was interrupted. Run the cell again to repeat it."
    return Message("Not yet", headline)


def _again(exercise: Exercise, headline: str, *body: str | Code) -> Message:
    return Message("Look again", headline, (*body, pointer(exercise)))


def _prints(outcome: Outcome, most: int = 10) -> list[str | Code]:
    lines = outcome.prints.rstrip().splitlines()
    if not lines:
        return []
    shown = [short(line, 100) for line in lines[:most]] + (["..."] if len(lines) > most else [])
    return [f"Your function printed (case {outcome.case.name}):", Code("\n".join(shown))]


def pointer(exercise: Exercise) -> str:
    """Where help is, after the diagnosis, and what the lesson goes on with."""
    return f'For a hint: `hint("{exercise.id}")`. The cells below use our version until then.'
