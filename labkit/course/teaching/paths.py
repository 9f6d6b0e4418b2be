"""Which lessons fit into an afternoon, a day, a week or a term: from the headers' minutes alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from labkit.course.catalogue import CHAPTERS, TITLES
from labkit.course.source.lesson import Lesson

ROOM = 10  # minutes beside each lesson: to arrive, to ask, to rest
LENGTHS = {  # sittings, and the minutes of each
    "an afternoon": (1, 210),
    "a day": (2, 210),
    "a week": (5, 210),
    "a term": (14, 90),
}
SUBJECTS = {
    "GPU only": ("01_gpu",),
    "cluster only": ("04_distributed",),
    "all four machines": tuple(chapter.folder for chapter in CHAPTERS),
}


@dataclass(frozen=True)
class Path:
    """Lessons in sittings; `left` are those of the subject that found no room."""

    sittings: list[list[Lesson]]
    left: list[Lesson]


def in_order(lessons: Sequence[Lesson], chapters: Sequence[str]) -> list[Lesson]:
    """The chapters' lessons, the first of each chapter first: no lesson before its forerunners."""
    chosen = [lesson for lesson in lessons if lesson.chapter.name in chapters]
    return sorted(chosen, key=lambda lesson: (lesson.number, chapters.index(lesson.chapter.name)))


def path(lessons: Sequence[Lesson], chapters: Sequence[str], sittings: int, minutes: int) -> Path:
    """Fill one sitting after the other, in order; a lesson is in one sitting, or in none.

    A chapter ends with the first of its lessons that finds no room: later ones need it.
    """
    made: list[list[Lesson]] = [[] for _ in range(sittings)]
    ended: set[str] = set()
    left = []
    place = 0
    for lesson in in_order(lessons, chapters):
        found = None
        if lesson.chapter.name not in ended:
            found = _first_with_room(made, place, lesson, minutes)
        if found is None:
            ended.add(lesson.chapter.name)
            left.append(lesson)
        else:
            place = found
            made[found].append(lesson)
    return Path([sitting for sitting in made if sitting], left)


def _first_with_room(
    made: list[list[Lesson]], place: int, lesson: Lesson, minutes: int
) -> int | None:
    for number in range(place, len(made)):
        if taken(made[number]) + lesson.minutes + ROOM <= minutes:
            return number
    return None


def taken(sitting: Sequence[Lesson]) -> int:
    """Minutes of a sitting that are planned."""
    return sum(lesson.minutes + ROOM for lesson in sitting)


def page(lessons: Sequence[Lesson], texts: Mapping[str, str]) -> str:
    """PATHS.md: every subject in every length."""
    parts = [texts["head"].format(room=ROOM)]
    for subject, chapters in SUBJECTS.items():
        parts.append(f"## {subject[0].upper()}{subject[1:]}\n")
        for length, (sittings, minutes) in LENGTHS.items():
            found = path(lessons, chapters, sittings, minutes)
            parts.append(_section(length, minutes, found, texts))
    return "\n".join(parts)


def _section(length: str, minutes: int, found: Path, texts: Mapping[str, str]) -> str:
    count = len(found.sittings)
    sittings = "one sitting" if count == 1 else f"{count} sittings"
    lines = [f"### {length[0].upper()}{length[1:]}: {sittings} of up to {minutes} minutes\n"]
    lines += ["| sitting | minutes | lessons | packages |", "|---:|---:|---|---|"]
    for number, sitting in enumerate(found.sittings, 1):
        named = ", ".join(_link(lesson) for lesson in sitting)
        needs = sorted({need for lesson in sitting for need in lesson.needs})
        lines.append(f"| {number} | {taken(sitting)} | {named} | {', '.join(needs)} |")
    if found.left:
        first, count = _link(found.left[0]), len(found.left)
        lines.append("\n" + texts["left"].format(count=count, first=first))
    return "\n".join(lines) + "\n"


def _link(lesson: Lesson) -> str:
    """A lesson with its chapter, as a link to its plan."""
    return f"[{TITLES[lesson.chapter.name]} {lesson.number}: {lesson.title}]({plan_of(lesson)})"


def plan_of(lesson: Lesson) -> str:
    """Where the plan of a lesson lies."""
    return f"plans/{lesson.name}.md"
