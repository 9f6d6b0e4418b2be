"""`hint`: one more step towards the solution, each a little clearer than the one before."""

from labkit.checks import progress
from labkit.checks.exercise import Exercise
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message, show


def hint(id: str, level: int = 1) -> None:
    """Shows hint number `level` of an exercise; 1 is the gentlest. Never raises."""
    try:
        item = registry().find(id, Exercise)
        show(_hint(item, level))
    except UnknownId as error:
        show(Message("Hint", str(error)))
    except Exception as error:
        show(Message("Check failed", f"The hint could not be shown ({type(error).__name__})."))


def _hint(item: Exercise, level: object) -> Message:
    last = len(item.hints)
    if isinstance(level, bool) or not isinstance(level, int):
        return Message(
            "Hint",
            f"The level is a whole number from 1 to {last}; this is a {type(level).__name__}.",
        )
    if level < 1:
        return Message("Hint", f"The hints of {item.id} start with level 1.")
    if level > last:
        headline = f"{item.id} has {last} hint{'s' * (last != 1)}; there is no further one."
        return Message(
            "Hint", headline, (f'Read the last one again with `hint("{item.id}", {last})`.',)
        )
    progress.record_hint(item.id, level)
    more = (
        (f'The next one: `hint("{item.id}", {level + 1})`.',)
        if level < last
        else ("This is the last one.",)
    )
    return Message("Hint", f"{level} of {last} for {item.id}.", (item.hints[level - 1], *more))
