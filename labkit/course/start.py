"""The start page: what there is to study, what is done, and what changed since it was opened."""

from labkit.course import TEXTS, CourseError, copies, notebook, progress
from labkit.course.catalogue import CHAPTERS, readable
from labkit.course.config import Config
from labkit.course.lesson import TWINS, Lesson
from labkit.machine_probe import this_machine

PAGE = "START.md"


def write(config: Config) -> None:
    notebook.write(config.work / PAGE, page(config).encode())


def page(config: Config) -> str:
    """The page as markdown; its links are relative to work/, where the copies are made."""
    says = TEXTS["start_page"]
    parts = [says["head"]]
    for chapter in CHAPTERS:
        parts.append(f"## {int(chapter.folder[:2])}. {chapter.title}\n")
        found, broken = readable(config, chapter)
        parts += [f"- **{error}** This lesson cannot be opened.\n" for error in broken]
        if not found and not broken:
            parts.append("There are no lessons in this chapter yet.\n")
        if not found:
            continue
        on = "; ".join(filter(None, (chapter.runs_on, chapter.hardware(this_machine()))))
        parts.append(f"Runs here on: {on}. [About this chapter]({chapter.folder}/README.md).\n")
        parts.append(says["table"] + "".join(_row(config, lesson) for lesson in found))
        parts += [note for lesson in found for note in _notes(config, lesson)]
    parts.append(says["foot"].format(work=config.work))
    return "\n".join(parts)


def _row(config: Config, lesson: Lesson) -> str:
    """The lesson's line in the table."""
    paths = [lesson.notebook(twin).relative_to(config.chapters).as_posix() for twin in TWINS]
    mine, solution = (copies.of(config, path)[0] for path in paths)
    title, solved = lesson.title.replace("|", "\\|"), progress.done([lesson], "check")
    return f"| [{title}]({mine}) | {lesson.minutes} | {solved} | [open]({solution}) |\n"


def _notes(config: Config, lesson: Lesson) -> list[str]:
    """What the learner should know: a copy is of an earlier version, or broken."""
    current, others = copies.of(config, f"{lesson.name}.ipynb")
    notes = []
    for path in others:
        note = (
            f"- **{lesson.title} changed since you opened it:** open the "
            f"[new version]({current}). Your work stays in [{path}]({path}).\n"
        )
        try:
            notebook.read(config.work / path, f"work/{path}")
        except CourseError as error:
            fresh = f"open a [fresh copy]({current}), or rename it"
            note = f"- **{error}** It is left as it is: {fresh}.\n"
        notes.append(note)
    return notes
