"""The messages of `check`: one function for each way a check can end. Nothing is decided here."""

from labkit.checks.diagnosis.diagnose import Diagnosis
from labkit.checks.items import Exercise
from labkit.checks.phrasing import (
    case_text,
    counted,
    error_text,
    line_blocks,
    not_allowed,
    pointer,
    short,
)
from labkit.checks.problem import Problem
from labkit.checks.render import Code, Message, Table
from labkit.checks.watch import CaseRun, Hit

_PRINTED = 10  # lines of what the function printed that are shown


def not_run(problem: Problem) -> Message:
    """The function was not called at all."""
    word = "Not yet" if problem.kind == "stub" else "Look again"
    return Message(word, problem.headline, problem.details)


def solved(exercise: Exercise, runs: list[CaseRun]) -> Message:
    """The function is right: the cases, what it printed, what it costs."""
    names = ", ".join(run.case.name for run in runs)
    checked = f"Checked on {counted(len(runs), 'case')}: {names}."
    body = (checked, *_prints(runs[0]), *_costs(exercise))
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
    problem = diagnosis.problem
    if problem.kind == "stub":  # nothing is wrong, there is only nothing yet
        headline = f"{exercise.id} is not solved yet: {problem.headline}."
        return Message("Not yet", headline, (pointer(exercise),))
    if problem.kind == "unjudged":
        said = "So nothing is said of your answer; below, the course's own stands in for it."
        return Message("Not judged", problem.headline, (said,))
    body = (*problem.details, *_shown_in(exercise, diagnosis), *_prints(diagnosis.run))
    return _again(exercise, problem.headline, *body)


def _shown_in(exercise: Exercise, diagnosis: Diagnosis) -> list[str]:
    """The case that a problem shows in, if it is about one, and how many others are right."""
    if not diagnosis.problem.of_case:
        return []
    case = _case(exercise, diagnosis.run)
    if diagnosis.right == 1:
        case += " One case is right."
    elif diagnosis.right > 1:
        case += f" {diagnosis.right} cases are right."
    return [case]


def endless(exercise: Exercise, run: CaseRun, idle: bool) -> Message:
    """The time was up."""
    where = line_blocks(run.line, "It was stopped in")
    why = "Look for a loop whose condition never becomes false, or for far too many steps."
    if idle:
        why = "It waits for something, such as `input` or `sleep`."
    body = (*where, why, _case(exercise, run), *_prints(run))
    return _again(exercise, "The function does not return.", *body)


def left_behind(exercise: Exercise, sentence: str, cure: str) -> Message:
    """The results are right, but something stays that was not there before."""
    return _again(exercise, sentence, cure)


def refused_call(exercise: Exercise, hit: Hit) -> Message:
    """A call that the exercise forbids."""
    headlines = {
        "oracle": "The function calls the course's own answer; this exercise asks you to write it.",
        "escape": f"The function calls `{hit.name}`, which disturbs the check; leave it out.",
        "forbidden": f"The function uses `{hit.name}`; this exercise asks you to do without it.",
    }
    without = not_allowed(exercise.forbidden) if hit.kind == "forbidden" else []
    return _again(exercise, headlines[hit.kind], *line_blocks(hit.line), *without)


def meddled(exercise: Exercise) -> Message:
    """After the run the course's own answer is no longer what it was before."""
    headline = "The function changes something that the course's own answer needs, such as NumPy."
    cure = "Leave modules as they are. Restart the kernel to repair them."
    return _again(exercise, headline, cure)


def interrupted(name: str) -> Message:
    """Ctrl-C, or the stop button; `name` is the id of the exercise."""
    headline = f"The check of {name} was interrupted. Run the cell again to repeat it."
    return Message("Not yet", headline)


def unknown_exercise(sentence: str) -> Message:
    """No exercise has the id."""
    return Message("Note", sentence, ("Your function was not looked at.",))


def failed(name: object, error: BaseException) -> Message:
    """A fault of the check itself; `name` is what was given as the id."""
    reason = f"The check of {short(name)} itself went wrong; this is not your function's fault."
    return Message("Check failed", reason, (Code(error_text(error)),))


def _again(exercise: Exercise, headline: str, *body: str | Code) -> Message:
    return Message("Look again", headline, (*body, pointer(exercise)))


def _case(exercise: Exercise, run: CaseRun) -> str:
    return f"Case: {case_text(exercise, run.case)}."


def _prints(run: CaseRun) -> list[str | Code]:
    """The first lines of what the function printed in a case."""
    lines = run.prints.rstrip().splitlines()
    if not lines:
        return []
    shown = [short(line, 100) for line in lines[:_PRINTED]]
    if len(lines) > _PRINTED:
        shown.append("...")
    return [f"Your function printed (case {run.case.name}):", Code("\n".join(shown))]
