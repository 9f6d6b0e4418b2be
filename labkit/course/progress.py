"""`labkit progress`: what the learner has solved, predicted and answered, chapter by chapter."""

from collections.abc import Sequence

from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import Config
from labkit.course.lesson import Lesson

KINDS = {"check": "exercises", "predict": "predictions", "quiz": "quizzes"}


def done(lessons: Sequence[Lesson], call: str) -> str:
    """`2/4` of what the lessons `check`, `predict` or `quiz`; `-` where there is none."""
    from labkit.checks.record import load

    ids = [id for lesson in lessons for id in lesson.named_in(call)]
    stored = load()[KINDS[call]]
    # a prediction is done once it is there, the others once they are solved
    count = sum(id in stored and stored[id].get("solved", True) for id in ids)
    return f"{count}/{len(ids)}" if ids else "-"


def progress(config: Config) -> int:
    """Print one row per chapter, a total, and what cannot be read; 1 if there is any."""
    rows, everything, unreadable = [("chapter", *KINDS.values())], [], []
    for chapter in CHAPTERS:
        found, broken = readable(config, chapter)
        none = "cannot be read" if broken else "no lessons yet"
        cells = [done(found, call) for call in KINDS] if found else [none, "", ""]
        rows.append((chapter.title, *cells))
        everything += found
        unreadable += broken
    rows.append(("all", *(done(everything, call) for call in KINDS)))
    lines = ["{:<9} {:<15} {:<13} {}".format(*row).rstrip() for row in rows]
    print(*lines, *unreadable, sep="\n")
    return 1 if unreadable else 0
