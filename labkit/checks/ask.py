"""`predict`, `hint` and `quiz`: each looks its item up, says one message and never raises."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real

from labkit.checks import record
from labkit.checks.items import Exercise, Prediction, Quiz
from labkit.checks.phrasing import counted
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message, Table, say
from labkit.provenance import Quantity, predicted


def predict(id: str, value: float | None = None, unit: str | None = None) -> Quantity | None:
    """Records your prediction and returns it as a Quantity, predicted by "you".

    Without a value the question is shown. Anything that is no number in the asked unit is
    answered with a sentence and None.
    """
    with _never_raising("Prediction", "prediction could not be recorded"):
        item = registry().find(id, Prediction)
        if (problem := _no_prediction(item, value, unit)) is not None:
            say(problem)
            return None
        quantity = predicted(float(value), item.unit, "you")
        say(_recorded(item, quantity))
        record.record_prediction(item.id, quantity.value, item.unit)
        return quantity


def hint(id: str, level: int = 1) -> None:
    """Shows hint number `level` of an exercise; 1 is the gentlest."""
    with _never_raising("Hint", "hint could not be shown"):
        say(_hint(registry().find(id, Exercise), level))


def quiz(id: str, answer: str | None = None) -> None:
    """Without an answer, shows the question; with one, says why it is right or wrong.

    A wrong answer does not give away the right one.
    """
    with _never_raising("Question", "quiz could not be shown"):
        item = registry().find(id, Quiz)
        say(_question(item) if answer is None else _answered(item, answer))


@contextmanager
def _never_raising(word: str, fault: str) -> Iterator[None]:
    try:
        yield
    except UnknownId as error:
        say(Message(word, str(error)))
    except Exception as error:
        say(Message("Check failed", f"The {fault} ({type(error).__name__})."))


def _no_prediction(item: Prediction, value: object, unit: object) -> Message | None:
    """What to answer when this is not a finite number in the unit that is asked."""
    call = f'`predict("{item.id}", <number>, "{item.unit}")`'
    if value is None:
        return Message("Prediction", item.question, (f"Write your number in its place: {call}.",))
    problem = _no_number(value) or _wrong_unit(item, unit)
    if problem is None:
        return None
    return Message("Prediction", problem, (f"Write {call}.",))


def _no_number(value: object) -> str | None:
    """A sentence when this is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        quotes = " Leave out the quotes." if isinstance(value, str) else ""
        return f"A prediction is one number; this is of type {type(value).__name__}.{quotes}"
    number = _as_float(value)
    if not math.isfinite(number):
        return f"A prediction is a finite number; this one is {number}."
    return None


def _wrong_unit(item: Prediction, unit: object) -> str | None:
    if unit == item.unit:
        return None
    given = f"yours is in {unit}" if isinstance(unit, str) and unit else "yours has none"
    return f"The prediction is asked in {item.unit}; {given}."


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _recorded(item: Prediction, quantity: Quantity) -> Message:
    headline = f"Recorded: {quantity}."
    if item.low <= quantity.value <= item.high:
        return Message("Prediction", headline, ("You will hold it against the result below.",))
    side = "small" if quantity.value < item.low else "large"
    doubt = f"It cannot be that {side}, though. Think of the unit, {item.unit}."
    return Message("Prediction", headline, (doubt, "Predict again if you like."))


def _hint(item: Exercise, level: object) -> Message:
    last = len(item.hints)
    if isinstance(level, bool) or not isinstance(level, int):
        kind = type(level).__name__
        return Message("Hint", f"The level is a whole number from 1 to {last}; this is a {kind}.")
    if level < 1:
        return Message("Hint", f"The hints of {item.id} start with level 1.")
    if level > last:
        headline = f"{item.id} has {counted(last, 'hint')}; there is no further one."
        again = f'Read the last one again with `hint("{item.id}", {last})`.'
        return Message("Hint", headline, (again,))
    record.record_hint(item.id, level)
    more = "This is the last one."
    if level < last:
        more = f'The next one: `hint("{item.id}", {level + 1})`.'
    return Message("Hint", f"{level} of {last} for {item.id}.", (item.hints[level - 1], more))


def _question(item: Quiz) -> Message:
    rows = tuple((f"{letter})", text) for letter, text in item.options.items())
    example = next(iter(item.options))
    how = f'Answer with `quiz("{item.id}", "{example}")`, or another letter.'
    return Message("Question", item.question, (Table(rows), how))


def _answered(item: Quiz, answer: object) -> Message:
    letter = _letter(item, answer)
    if letter is None:
        headline = f"The answer is one of {', '.join(item.options)}, in quotes."
        return Message("Question", headline, (f'`quiz("{item.id}")` shows the question.',))
    solved = letter == item.answer
    record.record_quiz(item.id, letter, solved)
    headline = f"{letter}) {item.options[letter]}"
    return Message("Right" if solved else "Look again", headline, (item.why[letter],))


def _letter(item: Quiz, answer: object) -> str | None:
    """The option that is meant: "b", "B" and "b)" are the same."""
    if type(answer) not in (str, int):
        return None
    given = str(answer).strip().strip("()").lower()
    for letter in item.options:
        if letter.lower() == given:
            return letter
    return None
