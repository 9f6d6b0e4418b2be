"""The rules every stored notebook obeys. Tests, `labkit build --check` and `verify` share them.

Each rule takes a notebook and yields a sentence for whatever is wrong. Those for what it stores of
its last run are in `output_rules`, those for its source in `source_rules`.
"""

import re
from collections.abc import Iterator

from labkit.course.config import Config
from labkit.course.lesson_rules import links
from labkit.course.lesson_rules.output_rules import (
    alt_texts,
    counts,
    ignored,
    outputs,
    relations,
    solutions,
    untouched,
)
from labkit.course.lesson_rules.prose import headings, words
from labkit.course.notebook import KERNELSPEC, Notebook, StoredNotebook, source_of, tags_of
from labkit.course.source.twins import ABOVE

LARGEST = 1  # MB of a notebook file
CODE_LINES = 20  # of one cell, empty ones too
SENTENCE_WORDS = 3  # what must stand above a code cell, headings apart
# The level-2 headings of a lesson, in this order, by how they begin.
SECTIONS = (
    "What you will be able to do",
    "Predict",
    "Build",
    "Check",
    "Measure",
    "Explain",
    "On trial",
    "Recap",
    "Quiz",
)


# How long a lesson may be, so that it is one sitting
CELLS = 28
WORDS = 1600  # of prose: without code, formulas, and the addresses of links; 1,300 do mostly
MINUTES = 60


def examine(stored: StoredNotebook, config: Config) -> list[str]:
    """Every broken rule of one notebook that is there, as sentences."""
    megabytes = stored.size / 1e6
    if megabytes > LARGEST:
        do = "show fewer or smaller pictures"
        return [f"{stored.name} has {megabytes:.1f} MB; the limit is 1 MB: {do}."]
    if stored.notebook is None:
        return [stored.broken]
    notebook = stored.notebook
    found: list[str] = []
    for rule in RULES:
        found += rule(notebook)
    return found + links.dead(notebook.path, notebook.markdown, config)


def kernelspec(notebook: Notebook) -> Iterator[str]:
    """The kernel is the course's, not that of an author's own environment."""
    spec = notebook.content["metadata"].get("kernelspec", {})
    if spec != KERNELSPEC:
        yield f"{notebook.name} has the kernelspec {spec.get('name')!r}, not python3 of the course."


def lengths(notebook: Notebook) -> Iterator[str]:
    """A lesson is one sitting: its cells, their lines, its words, and its author's estimate."""
    name = notebook.name
    cells = len(notebook.cells)
    if cells > CELLS:
        yield f"{name} has {cells} cells; this lesson has at most {CELLS}. Cut or split it."
    prose = words(ABOVE.sub("", notebook.markdown))
    if prose > WORDS:
        most = f"this lesson has at most {WORDS:,}"
        yield f"{name} has {prose:,} words of prose; {most}. Cut or split it."
    for here, cell in notebook.located("code"):
        size = len(source_of(cell).splitlines())
        if size > CODE_LINES:
            yield f"{here} has {size} lines; a code cell has at most {CODE_LINES}, empty ones too."
    minutes = notebook.course_metadata.get("minutes")
    if type(minutes) is not int or minutes < 1:
        yield f"{name} is planned for {minutes!r} minutes; write a whole number of at least 1."
    elif minutes > MINUTES:
        most = f"a lesson has at most {MINUTES}"
        yield f"{name} is planned for {minutes} minutes; {most}. Cut or split it."


def explained(notebook: Notebook) -> Iterator[str]:
    """Above every code cell, the setup cell apart, stands a sentence that says why."""
    before: dict = {}
    for here, cell in notebook.located():
        if cell.get("cell_type") == "code" and "setup" not in tags_of(cell):
            above = source_of(before) if before.get("cell_type") == "markdown" else ""
            without_headings = re.sub(r"^#.*", "", above, flags=re.MULTILINE)
            if words(without_headings) < SENTENCE_WORDS:
                yield f"{here} has no sentence above it that says why."
        before = cell


def sections(notebook: Notebook) -> Iterator[str]:
    """The sections of a lesson are there, and in their order."""
    titles = [title for level, title in headings(notebook.markdown) if level == 2]
    places = []
    for section in SECTIONS:
        found = [place for place, title in enumerate(titles) if title.startswith(section)]
        if found:
            places.append(found[0])
        else:
            yield f"{notebook.name} has no section `## {section}`."
    if places != sorted(places):
        yield f"{notebook.name}: its sections are not in the order {', '.join(SECTIONS)}."


RULES = (
    kernelspec,
    counts,
    outputs,
    relations,
    solutions,
    untouched,
    alt_texts,
    ignored,
    lengths,
    explained,
    sections,
)
