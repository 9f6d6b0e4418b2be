"""`labkit progress`: what the learner has solved, predicted and answered, chapter by chapter."""

from collections.abc import Sequence

from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import Config
from labkit.course.source.lesson import Lesson

# What a lesson calls -> what the record calls it.
KINDS = {"check": "exercises", "predict": "predictions", "quiz": "quizzes"}


def done(lessons: Sequence[Lesson], call: str) -> str:
    """`2/4` of what the lessons `check`, `predict` or `quiz`; `-` where there is none."""
    from labkit.checks.record import load

    stored = load()[KINDS[call]]
    total = 0
    count = 0
    for lesson in lessons:
        ids = lesson.named_in(call)
        total += len(ids)
        # A prediction is done once it is there, the others once they are solved.
        count += sum(stored[id].get("solved", True) for id in ids if id in stored)
    return f"{count}/{total}" if total else "-"


def progress(config: Config) -> int:
    """Print one row per chapter, a total, and what cannot be read; 1 if there is any."""
    everything: list[Lesson] = []
    unreadable: list[str] = []
    _print_row("chapter", *KINDS.values())
    for chapter in CHAPTERS:
        lessons, broken = readable(config, chapter)
        if lessons:
            _print_row(chapter.title, *_counts(lessons))
        else:
            _print_row(chapter.title, "cannot be read" if broken else "no lessons yet", "", "")
        everything += lessons
        unreadable += broken
    _print_row("all", *_counts(everything))
    for sentence in unreadable:
        print(sentence)
    return 1 if unreadable else 0


def _counts(lessons: Sequence[Lesson]) -> list[str]:
    """What is done of each kind."""
    return [done(lessons, call) for call in KINDS]


def _print_row(chapter: str, exercises: str, predictions: str, quizzes: str) -> None:
    print(f"{chapter:<9} {exercises:<15} {predictions:<13} {quizzes}".rstrip())
