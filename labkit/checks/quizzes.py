"""`quiz`: one question, lettered options, and for every answer the reason why."""

from labkit.checks import progress
from labkit.checks.exercise import Quiz
from labkit.checks.registry import UnknownId, registry
from labkit.checks.render import Message, Table, show


def quiz(id: str, answer: str | None = None) -> None:
    """Without an answer, shows the question; with one, says why it is right or wrong. Never raises.

    A wrong answer does not give away the right one.
    """
    try:
        item = registry().find(id, Quiz)
        show(_question(item) if answer is None else _answered(item, answer))
    except UnknownId as error:
        show(Message("Question", str(error)))
    except Exception as error:
        show(Message("Check failed", f"The quiz could not be shown ({type(error).__name__})."))


def _question(item: Quiz) -> Message:
    rows = Table(tuple((f"{letter})", text) for letter, text in item.options.items()))
    example = next(iter(item.options))
    return Message(
        "Question",
        item.question,
        (rows, f'Answer with `quiz("{item.id}", "{example}")`, or another letter.'),
    )


def _answered(item: Quiz, answer: object) -> Message:
    letters = {letter.lower(): letter for letter in item.options}
    given = str(answer) if type(answer) in (str, int) else ""
    letter = letters.get(given.strip().strip("()").lower())
    if letter is None:
        options = ", ".join(item.options)
        return Message(
            "Question",
            f"The answer is one of {options}, in quotes.",
            (f'`quiz("{item.id}")` shows the question.',),
        )
    solved = letter == item.answer
    progress.record_quiz(item.id, letter, solved)
    headline = f"{letter}) {item.options[letter]}"
    return Message("Right" if solved else "Look again", headline, (item.why[letter],))
