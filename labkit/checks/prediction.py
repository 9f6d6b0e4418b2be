"""`predict`: a number before any result, kept beside the result that comes later."""

import math
from numbers import Real

from labkit.checks import progress
from labkit.checks.exercise import Prediction
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message, show
from labkit.provenance import Quantity, predicted


def predict(id: str, value: float | None = None, unit: str | None = None) -> Quantity | None:
    """Records your prediction and returns it as a Quantity, predicted by "you".

    Without a value the question is shown. Anything that is no number in the asked unit is
    answered with a sentence and None. Never raises.
    """
    try:
        item = registry().find(id, Prediction)
        number, problem = _number(item, value, unit)
        if problem is not None:
            show(problem)
            return None
        show(_recorded(item, number))
        progress.record_prediction(item.id, number, item.unit)
        return predicted(number, item.unit, "you")
    except UnknownId as error:
        show(Message("Prediction", str(error)))
    except Exception as error:
        show(
            Message(
                "Check failed", f"The prediction could not be recorded ({type(error).__name__})."
            )
        )
    return None


def _number(item: Prediction, value: object, unit: object) -> tuple[float, Message | None]:
    call = f'`predict("{item.id}", <number>, "{item.unit}")`'
    if value is None:
        return 0.0, Message("Prediction", item.question, (f"Answer with {call}.",))
    if isinstance(value, bool) or not isinstance(value, Real):
        kind = type(value).__name__
        quotes = " Leave out the quotes." if isinstance(value, str) else ""
        return 0.0, Message(
            "Prediction",
            f"A prediction is one number; this is of type {kind}.{quotes}",
            (f"Write {call}.",),
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        return 0.0, Message(
            "Prediction",
            f"A prediction is a finite number; this one is {number}.",
            (f"Write {call}.",),
        )
    if unit != item.unit:
        given = f"yours is in {unit}" if isinstance(unit, str) and unit else "yours has none"
        headline = f"The prediction is asked in {item.unit}; {given}."
        return 0.0, Message("Prediction", headline, (f"Write {call}.",))
    return number, None


def _recorded(item: Prediction, number: float) -> Message:
    shown = predicted(number, item.unit, "you")
    if item.low <= number <= item.high:
        return Message(
            "Prediction", f"Recorded: {shown}.", ("You will hold it against the result below.",)
        )
    side = "small" if number < item.low else "large"
    doubt = f"It cannot be that {side}, though. Think of the unit, {item.unit}."
    again = "Predict again if you like."
    return Message("Prediction", f"Recorded: {shown}.", (doubt, again))
