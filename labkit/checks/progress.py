"""What the learner has done so far, recorded and summed up; `store` keeps the file.

Nothing here raises: what goes wrong with the file is said once, in a sentence, and the lesson
goes on.
"""

from dataclasses import dataclass
from datetime import date

from labkit.checks import store
from labkit.checks.exercise import Exercise, Prediction, Quiz
from labkit.checks.registry import registry
from labkit.checks.store import Progress, load

__all__ = [
    "CHAPTERS",
    "Progress",
    "Row",
    "load",
    "record_check",
    "record_hint",
    "record_prediction",
    "record_quiz",
    "summary",
]

CHAPTERS = ("gpu", "tpu", "fpga", "distributed")


@dataclass(frozen=True)
class Row:
    """One line of the table of progress. state: "solved", "tried" or "open"; hints: the highest
    level seen.
    """

    chapter: str
    kind: str  # "exercise", "prediction" or "quiz"
    id: str
    state: str
    hints: int = 0


def record_check(id: str, solved: bool) -> None:
    """One attempt at an exercise. Solved stays solved."""

    def change(progress: Progress) -> None:
        entry = progress.exercises.setdefault(id, {"attempts": 0, "solved": False})
        entry["attempts"] += 1
        if solved and not entry["solved"]:
            entry.update(solved=True, date=date.today().isoformat())

    store.update(change)


def record_prediction(id: str, value: float, unit: str) -> None:
    """The latest prediction; the first one is kept beside it."""

    def change(progress: Progress) -> None:
        first = progress.predictions.get(id, {}).get("first", value)
        progress.predictions[id] = {"value": value, "unit": unit, "first": first}

    store.update(change)


def record_hint(id: str, level: int) -> None:
    def change(progress: Progress) -> None:
        progress.hints[id] = max(level, progress.hints.get(id, 0))

    store.update(change)


def record_quiz(id: str, answer: str, solved: bool) -> None:
    """One answer. Solved stays solved; the latest answer is kept."""

    def change(progress: Progress) -> None:
        entry = progress.quizzes.setdefault(id, {"attempts": 0, "solved": False})
        entry.update(
            attempts=entry["attempts"] + 1, solved=entry["solved"] or solved, answer=answer
        )

    store.update(change)


def summary() -> list[Row]:
    """One row per registered exercise, prediction and quiz, chapter by chapter."""
    progress, rows = load(), []
    for item in registry().items.values():
        chapter = item.id.partition(".")[0]
        if isinstance(item, Exercise):
            state = _state(progress.exercises.get(item.id))
            rows.append(Row(chapter, "exercise", item.id, state, progress.hints.get(item.id, 0)))
        elif isinstance(item, Quiz):
            rows.append(Row(chapter, "quiz", item.id, _state(progress.quizzes.get(item.id))))
        elif isinstance(item, Prediction):
            rows.append(
                Row(
                    chapter,
                    "prediction",
                    item.id,
                    "solved" if item.id in progress.predictions else "open",
                )
            )
    order = {chapter: place for place, chapter in enumerate(CHAPTERS)}
    return sorted(rows, key=lambda row: (order.get(row.chapter, len(order)), row.chapter))


def _state(entry: dict | None) -> str:
    return "open" if entry is None else "solved" if entry["solved"] else "tried"
