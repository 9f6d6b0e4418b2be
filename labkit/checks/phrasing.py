"""Shapes, numbers, cases, lines and errors as a reader wants them."""

import inspect
from collections.abc import Callable

import numpy as np

from labkit.checks.items import Case, Exercise, Refused
from labkit.checks.render import Code
from labkit.checks.watch import Line

FEW = 8  # numbers that a case line prints itself, where an exercise shows them


def are(count: int) -> str:
    """ "is" for one, "are" for any other number."""
    return "is" if count == 1 else "are"


def counted(count: int, noun: str) -> str:
    """ "1 element", "3 elements"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shape_text(shape: tuple[int, ...]) -> str:
    """3 × 4 reads better than (3, 4); a single number has no shape."""
    if len(shape) == 0:
        return "a single number"
    if len(shape) == 1:
        return counted(shape[0], "element")
    return " × ".join(str(length) for length in shape)


def index_text(name: str, index: tuple[int, ...]) -> str:
    """`dw[0, 1]`, in backticks; the name alone where there is no index."""
    if not index:
        return f"`{name}`"
    listed = ", ".join(str(i) for i in index)
    return f"`{name}[{listed}]`"


def number_pair(got: object, expected: object) -> tuple[str, str]:
    """Both with six digits, or with as many as it takes to tell them apart.

    Where an integer is expected, a whole number is written as one.
    """
    if isinstance(expected, int | np.integer) and _is_whole(got):
        got = int(got)
    for digits in (6, 9, 17):
        got_text = _number(got, digits)
        expected_text = _number(expected, digits)
        if got_text != expected_text:
            break
    return got_text, expected_text


def _is_whole(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return bool(np.isfinite(value) and value == np.trunc(value))


def _number(value: object, digits: int) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int):
        return str(value)
    return f"{value:.{digits}g}"


def argument_name(oracle: Callable, position: int) -> str:
    """The oracle's name for a position."""
    try:
        return list(inspect.signature(oracle).parameters)[position]
    except (TypeError, ValueError, IndexError):  # a function written in C, or `*args`
        return f"argument {position}"


def names_only(signature: inspect.Signature) -> str:
    """ "(x, w, b=1)": the parameters, without annotations; of a default, plain values alone."""
    plain = []
    for parameter in signature.parameters.values():
        default = parameter.default
        if default is not parameter.empty and not isinstance(default, int | float | str | None):
            default = ...
        plain.append(parameter.replace(annotation=parameter.empty, default=default))
    return short(str(inspect.Signature(plain)).replace("Ellipsis", "..."), 90)


def refuse_other_parameters(answer: Callable, solution: Callable) -> None:
    """Refused where the answer cannot be called with the arguments of the solution."""
    try:
        wanted = inspect.signature(solution)
        inspect.signature(answer).bind(*wanted.parameters)
    except TypeError as error:
        call = f"f{names_only(wanted)}"
        raise Refused(f"The function cannot be called as {call}: {error}.") from None
    except ValueError:  # written in C, and without a signature
        pass


def case_text(exercise: Exercise, case: Case) -> str:
    """'prime sizes (dy 7 × 5, x 7 × 3, stride 2)'; "lengths [2, 3, 4]" where these are shown."""
    parts = []
    for position, value in enumerate(case.args):
        name = argument_name(exercise.oracle, position)
        if isinstance(value, np.ndarray):
            few = name in exercise.shown and value.ndim == 1 and value.size <= FEW
            parts.append(f"{name} {value.tolist() if few else shape_text(value.shape)}")
        elif type(value) in (int, float, bool, str, np.float32):
            parts.append(f"{name} {value}")
    if not parts:
        return case.name
    return f"{case.name} ({', '.join(parts)})"


def line_blocks(line: Line | None, where: str = "It happens in") -> list[str | Code]:
    """A line of the learner's, as paragraphs of a message; none where it is not known."""
    if line is None:
        return []
    if not line.text:
        return [f"{where} {line}."]
    return [f"{where} {line}:", Code(line.text)]


def not_allowed(forbidden: tuple[str, ...]) -> list[str]:
    """All that an exercise forbids, as a paragraph: its text need not name everything."""
    if not forbidden:
        return []
    listed = ", ".join(f"`{name}`" for name in forbidden)
    return [f"Not allowed in this exercise: {listed}."]


def error_text(error: BaseException) -> str:
    """Type and message of an exception, at most four lines."""
    kind = type(error).__name__
    try:
        text = str(error).strip()
    except BaseException:  # an exception class of the learner's own
        text = ""
    lines = [short(line, 200) for line in text.splitlines()[:4]]
    if not lines:
        return kind
    return "\n".join([f"{kind}: {lines[0]}", *lines[1:]])


def short(text: object, length: int = 60) -> str:
    """At most `length` characters; of anything but a text, its type."""
    if not isinstance(text, str):
        text = type(text).__name__
    if len(text) <= length:
        return text
    return text[: length - 3] + "..."


def pointer(exercise: Exercise) -> str:
    """Where help is, after the diagnosis, and what the lesson goes on with."""
    return f'For a hint: `hint("{exercise.id}")`. The cells below use our version until then.'
