"""The messages of `check`: one function for each way a check can end."""

from labkit.checks.diagnose import Diagnosis
from labkit.checks.exercise import Exercise
from labkit.checks.guard import Hit
from labkit.checks.inputs import case_text
from labkit.checks.render import Code, Message, Table
from labkit.checks.run import Outcome, Run
from labkit.checks.source import Line


def solved(exercise: Exercise, run: Run) -> Message:
    """The function is right: the cases, what it printed, what it costs."""
    names = ", ".join(outcome.case.name for outcome in run.outcomes)
    count = len(run.outcomes)
    body = [f"Checked on {count} case{'s' * (count != 1)}: {names}.", *_prints(run.outcomes[0])]
    body += _costs(exercise)
    return Message("Right", f"{exercise.id} is solved.", tuple(body))


def _costs(exercise: Exercise) -> list[str | Table]:
    if exercise.cost is None:
        return []
    try:
        rows = tuple((str(label), str(quantity)) for label, quantity in exercise.cost())
    except Exception as error:  # the answer is right all the same
        return [f"What it costs could not be worked out ({type(error).__name__})."]
    return ["What it costs:", Table(rows)]


def not_yet(exercise: Exercise) -> Message:
    """The stub: nothing is wrong, there is only nothing yet."""
    headline = f"{exercise.id} is not solved yet: the function returns None."
    body = ("If you have written it: is there a `return` at the end?", pointer(exercise))
    return Message("Not yet", headline, body)


def wrong(exercise: Exercise, diagnosis: Diagnosis) -> Message:
    """The first problem, its likely cause, and the case it shows in."""
    problem, outcome = diagnosis.problem, diagnosis.outcome
    headline, body = problem.headline, list(problem.details)
    if problem.kind == "raised":
        headline, body = _raised(outcome)
    if diagnosis.cause:
        body.append(diagnosis.cause)
    right = {0: "", 1: " One case is right."}.get(
        diagnosis.right, f" {diagnosis.right} cases are right."
    )
    body.append(f"Case: {case_text(exercise.oracle, outcome.case)}.{right}")
    return Message("Look again", headline, (*body, *_prints(outcome), pointer(exercise)))


def _raised(outcome: Outcome) -> tuple[str, list[str | Code]]:
    error = outcome.error
    if isinstance(error, SystemExit):
        headline = "The function ends the program: it calls `exit` or raises SystemExit."
        return headline, _at(outcome.line)
    headline = f"The function raises {type(error).__name__}."
    return headline, [Code(error_text(error)), *_at(outcome.line)]


def _at(line: Line | None, where: str = "It happens in") -> list[str | Code]:
    if line is None:
        return []
    return [f"{where} {line}:", Code(line.text)] if line.text else [f"{where} {line}."]


def endless(exercise: Exercise, run: Run) -> Message:
    """The time was up."""
    outcome = run.outcomes[-1]
    busy = "Look for a loop whose condition never becomes false, or for far too many steps."
    body = [
        *_at(outcome.line, "It was stopped in"),
        "It waits for something, such as `input` or `sleep`." if run.idle else busy,
        f"Case: {case_text(exercise.oracle, outcome.case)}.",
    ]
    headline = "The function does not return within the time of a check."
    return Message("Look again", headline, (*body, *_prints(outcome), pointer(exercise)))


def refused_call(exercise: Exercise, hit: Hit) -> Message:
    """A call that the exercise forbids."""
    if hit.kind == "oracle":
        headline = "The function calls the course's own answer; this exercise asks you to write it."
    elif hit.kind == "escape":
        headline = f"The function calls `{hit.name}`, which disturbs the check; leave it out."
    else:
        headline = f"The function uses `{hit.name}`; this exercise asks you to do without it."
    return Message("Look again", headline, (*_at(hit.line), pointer(exercise)))


def meddled(exercise: Exercise) -> Message:
    """After the run the course's own answer is no longer what it was before."""
    headline = "The function changes something that the course's own answer needs, such as NumPy."
    body = ("Leave modules as they are. Restart the kernel to repair them.", pointer(exercise))
    return Message("Look again", headline, body)


def interrupted(exercise: Exercise | None) -> Message:
    """Ctrl-C, or the stop button."""
    name = exercise.id if exercise is not None else "the function"
    headline = f"The check of {name} was interrupted. Run the cell again to repeat it."
    return Message("Not yet", headline)


def _prints(outcome: Outcome, most: int = 10) -> list[str | Code]:
    lines = outcome.prints.rstrip().splitlines()
    if not lines:
        return []
    shown = [short(line, 100) for line in lines[:most]] + (["..."] if len(lines) > most else [])
    return [f"Your function printed (case {outcome.case.name}):", Code("\n".join(shown))]


def pointer(exercise: Exercise) -> str:
    """Where help is, after the diagnosis."""
    return f'For a hint: `hint("{exercise.id}")`.'


def error_text(error: BaseException) -> str:
    """Type and message of an exception, at most four lines."""
    try:
        text = str(error)
    except BaseException:  # an exception class of the learner's own
        text = ""
    lines = [short(line, 200) for line in text.strip().splitlines()[:4]]
    return (
        "\n".join([f"{type(error).__name__}: {lines[0]}", *lines[1:]])
        if lines
        else type(error).__name__
    )


def short(text: object, length: int = 60) -> str:
    """At most `length` characters; of anything but a text, its type."""
    text = text if isinstance(text, str) else type(text).__name__
    return text if len(text) <= length else text[: length - 3] + "..."
