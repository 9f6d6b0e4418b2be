"""The rules for what an author writes: it is finished, one sentence is one line, no block is wide.

Each yields a sentence for whatever is wrong, with file and line.
"""

from collections.abc import Iterator
from pathlib import Path

from labkit.course import folders
from labkit.course.config import Config
from labkit.course.lesson_rules.sentences import FENCE, blocks, first_difference
from labkit.course.source.lesson import Lesson, LessonCell

TO_WRITE = "TO " + "WRITE"  # what `labkit new` leaves for the author; this file has none itself
QUOTED = 60  # characters of a line that a message shows
BLOCK_WIDTH = 62  # characters of a text block that JupyterLab shows in a line at 1,024 pixels


def examine(lesson: Lesson, config: Config) -> list[str]:
    """Every broken rule of a lesson's source and of the files that belong to it."""
    return [
        *one_sentence_a_line(lesson, config),
        *narrow_blocks(lesson, config),
        *unfinished(lesson, config),
    ]


def one_sentence_a_line(lesson: Lesson, config: Config) -> Iterator[str]:
    """In Markdown one sentence stands on one line, so that a diff shows what was rewritten.

    The first place of each cell is named.
    """
    for cell in lesson.cells:
        if cell.type == "markdown":
            yield from _first_in(cell, config.relative(lesson.path))


def _first_in(cell: LessonCell, name: str) -> Iterator[str]:
    found = first_difference(cell.text)
    if found is not None:
        place, line = found
        quoted = line[:QUOTED] + ("..." if len(line) > QUOTED else "")
        here = f"{name}, line {cell.line + place}"
        yield f"{here}: one sentence stands on one line of its own: `{quoted}`."


def narrow_blocks(lesson: Lesson, config: Config) -> Iterator[str]:
    """No text block in Markdown, from ``` to ```, is wider than `BLOCK_WIDTH`, whatever it holds.

    A wider line wraps on a small screen, and its columns no longer stand below those above.
    The widest line of each block is named.
    """
    for cell in lesson.cells:
        if cell.type == "markdown":
            yield from _wide_in(cell, config.relative(lesson.path))


def _wide_in(cell: LessonCell, name: str) -> Iterator[str]:
    for block in blocks(cell.text):
        widths = [len(line) for line in block.lines]
        widest = max(widths)
        if FENCE.match(block.lines[0]) and widest > BLOCK_WIDTH:
            here = f"{name}, line {cell.line + block.first + widths.index(widest)}"
            limit = f"a text block is at most {BLOCK_WIDTH} wide, or wraps on small screens"
            do = "Narrow its columns, break lines, or make it a table"
            yield f"{here} has {widest} characters; {limit}. {do}."


def unfinished(lesson: Lesson, config: Config) -> Iterator[str]:
    """Each line of the lesson's files that `labkit new` left for its author."""
    for path in files_of(lesson):
        if not path.is_file():
            continue
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            if TO_WRITE in line:
                here = f"{config.relative(path)}, line {number}"
                yield f"{here} is still to be written: `{line.strip()[:QUOTED]}`."


def files_of(lesson: Lesson) -> list[Path]:
    """The source of a lesson, its chapter's page, and what its author writes beside it."""
    written = folders.parts(lesson.path).written
    return [lesson.path, lesson.chapter / "README.md", *written]
