"""`labkit progress`: what is solved, predicted and answered, lesson by lesson; where to go on."""

import json
from collections.abc import Sequence

from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import Config
from labkit.course.source.lesson import Lesson

# What a lesson calls -> what the record calls it.
KINDS = {"check": "exercises", "predict": "predictions", "quiz": "quizzes"}


def counted(lessons: Sequence[Lesson], call: str) -> tuple[int, int]:
    """How much of what the lessons `check`, `predict` or `quiz` is done, and how much there is."""
    from labkit.checks.record import load

    stored = load()[KINDS[call]]
    total = 0
    count = 0
    for lesson in lessons:
        ids = lesson.named_in(call)
        total += len(ids)
        # A prediction is done once it is there, the others once they are solved.
        count += sum(stored[id].get("solved", True) for id in ids if id in stored)
    return count, total


def done(lessons: Sequence[Lesson], call: str) -> str:
    """`2/4` of what the lessons `check`, `predict` or `quiz`; `-` where there is none."""
    count, total = counted(lessons, call)
    return f"{count}/{total}" if total else "-"


def next_lesson(lessons: Sequence[Lesson]) -> Lesson | None:
    """Where to go on: the first lesson that is begun and not solved, else the first unsolved."""
    fresh = None
    for lesson in lessons:
        solved, exercises = counted([lesson], "check")
        begun = solved + counted([lesson], "predict")[0] + counted([lesson], "quiz")[0]
        if solved == exercises:
            continue
        if begun:
            return lesson
        fresh = fresh or lesson
    return fresh


def progress(config: Config, as_json: bool = False) -> int:
    """Print a row for each chapter and lesson, a total, and where to go on.

    What cannot be read is named at the end; the exit code is 1 if there is any.
    """
    found = {chapter: readable(config, chapter) for chapter in CHAPTERS}
    everything = [lesson for lessons, _ in found.values() for lesson in lessons]
    unreadable = [sentence for _, broken in found.values() for sentence in broken]
    if as_json:
        print(json.dumps(_as_json(everything, unreadable), indent=1))
        return 1 if unreadable else 0
    _print_row("chapter", *KINDS.values())
    for chapter, (lessons, broken) in found.items():
        if not lessons:
            _print_row(chapter.title, "cannot be read" if broken else "no lessons yet", "", "")
            continue
        _print_row(chapter.title, *_counts(lessons))
        for lesson in lessons:
            _print_row(f"  {lesson.stem}", *_counts([lesson]))
    _print_row("all", *_counts(everything))
    if after := next_lesson(everything):
        print(f"Go on with {after.name}: {after.title}.")
    for sentence in unreadable:
        print(sentence)
    return 1 if unreadable else 0


def _as_json(lessons: Sequence[Lesson], unreadable: list[str]) -> dict:
    """The same for programs: of each kind, how much is done, and how much there is."""
    rows = []
    for lesson in lessons:
        kinds = {kind: list(counted([lesson], call)) for call, kind in KINDS.items()}
        rows.append({"lesson": lesson.name, "title": lesson.title, **kinds})
    after = next_lesson(lessons)
    return {"lessons": rows, "next": after.name if after else None, "unreadable": unreadable}


def _counts(lessons: Sequence[Lesson]) -> list[str]:
    """What is done of each kind."""
    return [done(lessons, call) for call in KINDS]


def _print_row(name: str, exercises: str, predictions: str, quizzes: str) -> None:
    print(f"{name:<40} {exercises:<15} {predictions:<13} {quizzes}".rstrip())
