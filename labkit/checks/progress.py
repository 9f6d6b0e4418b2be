"""What the learner has done so far, recorded and summed up; `store` keeps the file.

Nothing here raises: what goes wrong with the file is said once, and the lesson goes on.
"""

from dataclasses import dataclass
from datetime import date

from labkit.checks import store
from labkit.checks.exercise import Exercise, Prediction, Quiz
from labkit.checks.registry import CALLS, registry
from labkit.checks.store import Progress

CHAPTERS = ("gpu", "tpu", "fpga", "distributed")
load = store.load


@dataclass(frozen=True)
class Row:
    """One line of the table of progress."""

    chapter: str
    kind: str  # "exercise", "prediction" or "quiz"
    id: str
    state: str  # "solved", "tried" or "open"
    hints: int = 0  # the highest level seen


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
        entry.update(answer=answer, attempts=entry["attempts"] + 1)
        entry["solved"] |= solved

    store.update(change)


def summary() -> list[Row]:
    """One row per registered exercise, prediction and quiz, chapter by chapter."""
    progress, rows = load(), []
    kept = {Exercise: progress.exercises, Prediction: progress.predictions, Quiz: progress.quizzes}
    for item in registry().items.values():
        entry = kept[type(item)].get(item.id)
        # a prediction is done once it is there, the others once they are solved
        state = "open" if entry is None else "solved" if entry.get("solved", True) else "tried"
        kind, chapter = CALLS[type(item)][0], item.id.partition(".")[0]
        rows.append(Row(chapter, kind, item.id, state, progress.hints.get(item.id, 0)))
    order = {chapter: place for place, chapter in enumerate(CHAPTERS)}
    return sorted(rows, key=lambda row: (order.get(row.chapter, len(order)), row.chapter))
