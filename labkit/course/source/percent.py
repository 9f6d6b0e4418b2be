"""Reads a lesson's source: jupytext's py:percent format, the part of it that lessons use.

    # ---                    a YAML header in comments
    # ---
    # %% [markdown]          a markdown cell: every line is a comment
    # %% tags=["timing"]     a code cell, here with a tag

Jupytext reads the same text to the same cells (tests/course/source/test_percent.py compares them),
but importing it takes longer than `labkit build` may take on an unchanged lesson.
"""

import re
from typing import NamedTuple

from labkit.course import CourseError

HEADER = re.compile(r"# ---\n((?:#.*\n)*?)# ---(?:\n|$)")
BEGIN = re.compile(r"# ?%%(\s|$)")
MARKER = re.compile(
    r"# ?%%(?:\s+\[(?P<type>markdown)\])?"
    r'(?:\s+tags=(?P<tags>\["[^"]*"(?:,\s*"[^"]*")*\]))?\s*'
)
MAGIC = re.compile(r"# (%{1,2}[a-zA-Z]|![a-zA-Z])")  # "# %matplotlib inline", "# !ls"


class Cell(NamedTuple):
    """One cell as the source has it; the markers of solutions are still in its text."""

    type: str  # "code" or "markdown"
    tags: tuple[str, ...]
    text: str
    line: int  # of its `# %%` marker; `text` starts one below


def read(text: str, name: str) -> tuple[dict, list[Cell]]:
    """Header and cells of a source, called `name` in messages. CourseError says file and line."""
    text = plain(text)
    lines = text.split("\n")
    header, start = _header(text, name)
    cells: list[tuple[int, str, list[str]]] = []  # line number, marker and body of each
    for number, line in enumerate(lines[start:], start + 1):
        if BEGIN.match(line):
            cells.append((number, line, []))
        elif cells:
            cells[-1][2].append(line)
        elif line.strip():
            raise CourseError(f"{name}, line {number}: text before the first cell (`# %%`).")
    return header, [_cell(*cell, name) for cell in cells]


def plain(text: str) -> str:
    """Without a byte order mark, and with the line ends of Unix."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _header(text: str, name: str) -> tuple[dict, int]:
    """The YAML header, and the index of the first line after it."""
    import yaml

    written = HEADER.match(text)
    if written is None:
        must = "a lesson starts with a YAML header between two lines `# ---`"
        raise CourseError(f"{name}, line 1: {must}.")
    try:
        header = yaml.safe_load(re.sub(r"^# ?", "", written[1].rstrip(), flags=re.MULTILINE))
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # "2020-99-99" is a ValueError
        mark = getattr(error, "problem_mark", None)
        here = f"{name}, line {mark.line + 2 if mark else 1}"
        what = getattr(error, "problem", None) or " ".join(str(error).split())
        raise CourseError(f"{here}: the header is not YAML: {what}.") from error
    if not isinstance(header, dict):
        raise CourseError(f"{name}, line 1: the header must be a YAML mapping.")
    return header, written[0].count("\n")


def _cell(number: int, marker: str, body: list[str], name: str) -> Cell:
    options = MARKER.fullmatch(marker)
    if options is None:
        do = 'write `# %%`, `# %% [markdown]`, and tags as tags=["a", "b"]'
        raise CourseError(f"{name}, line {number}: `{marker}` is no cell marker of lessons: {do}.")
    while body and not body[-1].strip():
        body.pop()
    if options["type"]:
        lines = [_uncommented(line, f"{name}, line {n}") for n, line in enumerate(body, number + 1)]
    else:
        lines = [line[2:] if MAGIC.match(line) else line for line in body]
    tags = tuple(re.findall(r'"([^"]*)"', options["tags"] or ""))
    return Cell(options["type"] or "code", tags, "\n".join(lines), number)


def _uncommented(line: str, here: str) -> str:
    if line.strip() and not line.startswith("#"):
        raise CourseError(f"{here}: every line of a markdown cell is a comment: {line!r}.")
    return re.sub(r"^# ?", "", line)
