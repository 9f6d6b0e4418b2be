"""The rows of lessons in README.md and in the pages of chapters: what the lessons' headers say."""

import re
from collections.abc import Sequence
from pathlib import Path

from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.source.lesson import Lesson

# Of a table: rows whose first link leads to a notebook, in a page of a chapter and in README.md.
IN_PAGE = re.compile(r"(?:^\| \[\d[^\n]*\.ipynb\) \|.*\n)+", re.MULTILINE)
IN_README = re.compile(r"(?:^\|[^\n]*\]\(chapters/\w+/\w+\.ipynb\) \|.*\n)+", re.MULTILINE)


def files(lessons: Sequence[Lesson], config: Config) -> list[GeneratedFile]:
    """The pages as they should be; those that are not there stay away."""
    found = []
    in_readme = ""
    for chapter in CHAPTERS:
        own = [one for one in lessons if one.chapter.name == chapter.folder]
        own.sort(key=lambda lesson: lesson.number)
        page = config.chapters / chapter.folder / "README.md"
        rows = "".join(f"| {_link(lesson, '')} | {lesson.able} |\n" for lesson in own)
        found += _with_rows(page, IN_PAGE, rows)
        first = f"[{chapter.folder[:2]} {chapter.title}](chapters/{chapter.folder}/README.md)"
        for lesson in own:
            link = _link(lesson, f"chapters/{chapter.folder}/")
            in_readme += f"| {first} | {link} | {lesson.runs_on} |\n".replace("|  |", "| |", 1)
            first = ""
    return found + _with_rows(config.course_root() / "README.md", IN_README, in_readme)


def _link(lesson: Lesson, folder: str) -> str:
    return f"[{lesson.number} {lesson.title}]({folder}{lesson.stem}.ipynb)"


def _with_rows(page: Path, table: re.Pattern, rows: str) -> list[GeneratedFile]:
    """A page with these rows in place of its own, or below all that it says."""
    if not page.is_file() or not rows:
        return []
    text = page.read_text(encoding="utf-8")
    if table.search(text):
        text = table.sub(lambda _: rows, text, count=1)
    elif table is IN_PAGE:
        text = text.rstrip("\n") + "\n" + rows
    return [GeneratedFile(page, text.encode())]
