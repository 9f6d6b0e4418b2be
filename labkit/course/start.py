"""The start page: what there is to study, what is done, and what changed since it was opened."""

from labkit.course import TEXTS, CourseError, copies, progress
from labkit.course.catalogue import CHAPTERS, Chapter, readable
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.notebook import Notebook
from labkit.course.source.lesson import Lesson
from labkit.hardware import stands_in
from labkit.machine_probe import this_machine

PAGE = "START.md"


def write(config: Config) -> None:
    """Bring the page in work/ up to date."""
    GeneratedFile(config.work / PAGE, page(config).encode()).write()


def page(config: Config) -> str:
    """The page as markdown; its links are relative to work/, where the copies are made."""
    says = TEXTS["start_page"]
    parts = [says["head"]]
    for chapter in CHAPTERS:
        parts += _chapter(config, chapter)
    parts.append(says["foot"].format(work=config.work))
    return "\n".join(parts)


def _chapter(config: Config, chapter: Chapter) -> list[str]:
    """A chapter's part of the page."""
    parts = [f"## {int(chapter.folder[:2])}. {chapter.title}\n"]
    lessons, broken = readable(config, chapter)
    for error in broken:
        parts.append(f"- **{error}** This lesson cannot be opened.\n")
    if not lessons:
        if not broken:
            parts.append("There are no lessons in this chapter yet.\n")
        return parts
    where = "; ".join(filter(None, (stands_in(chapter.extra), chapter.hardware(this_machine()))))
    about = f"[About this chapter]({chapter.folder}/README.md)"
    parts.append(f"{TEXTS['start_page']['here'].format(where=where)} {about}.\n")
    rows = [_row(config, lesson) for lesson in lessons]
    parts.append(TEXTS["start_page"]["table"] + "".join(rows))
    for lesson in lessons:
        parts += _notes(config, lesson)
    for gone in copies.of_lessons_gone(config, chapter.folder):
        parts.append(TEXTS["start_page"]["gone"].format(copy=gone))
    return parts


def _row(config: Config, lesson: Lesson) -> str:
    """The lesson's line in the table."""
    mine = _link(config, lesson, "learner")
    solution = _link(config, lesson, "solution")
    title = lesson.title.replace("|", "\\|")
    solved = progress.done([lesson], "check")
    begin = TEXTS["start_page"]["begin"] if _is_first(lesson) else ""
    return (
        f"| {lesson.number} | [{title}]({mine}){begin} | {lesson.minutes} | {solved} "
        f"| [open]({solution}) |\n"
    )


def _is_first(lesson: Lesson) -> bool:
    """Whether a newcomer begins with this one."""
    return lesson.chapter.name == CHAPTERS[0].folder and lesson.number == 1


def _link(config: Config, lesson: Lesson, twin: str) -> str:
    """What to open of a twin, relative to work/."""
    path = lesson.notebook(twin).relative_to(config.chapters)
    if twin == "solution":
        path = path.with_suffix(".solution.ipynb")
    return copies.of(config, path.as_posix())[0]


def _notes(config: Config, lesson: Lesson) -> list[str]:
    """What the learner should know: a copy is of an earlier version, or broken."""
    current, others = copies.of(config, f"{lesson.name}.ipynb")
    return [_note(config, lesson, other, current) for other in others]


def _note(config: Config, lesson: Lesson, other: str, current: str) -> str:
    """About a copy that is not the current one."""
    try:
        Notebook.read(config.work / other, f"work/{other}")
    except CourseError as error:
        fresh = f"open a [fresh copy]({current}), or rename it"
        return f"- **{error}** It is left as it is: {fresh}.\n"
    return (
        f"- **{lesson.title} changed since you opened it:** open the [new version]({current}). "
        f"Your work stays in [{other}]({other}).\n"
    )
