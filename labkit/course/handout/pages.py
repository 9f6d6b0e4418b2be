"""What lies in a handout: notebooks with a first cell of their own, and the page to start with.

A learner's notebook has no outputs, and no links to files that its reader has not.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pprint import pformat

from labkit.course import TEXTS, CourseError
from labkit.course.handout import first_cell
from labkit.course.notebook import KERNELSPEC, Notebook, source_of, tags_of
from labkit.course.source.lesson import Lesson

SAMPLE = "sample"  # of CIFAR-10: no file of a handout
# Data that no cell carries, and the calls by which the code of a lesson reads it.
READS = {
    SAMPLE: r"\bcifar10\(|\bphotographs\(",
    "convnet.safetensors": r"\bload_weights\(\)",
    "gpt.safetensors": r"\btrained\(\)",
}
Files = dict[str, bytes]  # by their places in the folder of a handout
LARGEST = 4_000_000  # bytes: one of ten is not saved on slow lines
LINE = 2_000  # characters of a payload
OWN = "# --- Each notebook has values of its own here.\n"
SAME = "# --- From here on, all first cells are the same.\n"
TITLE = "# @title Set up: this cell brings labkit, the course's package\n"
FOLDED = {"cellView": "form", "jupyter": {"source_hidden": True}, "tags": ["setup"]}
RELATIVE_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#|/|<)[^)]*\)")


def data_of(lesson: Lesson) -> list[str]:
    """The data that a lesson reads and its cell does not carry: names in READS."""
    modules = [path for path in lesson.path.parent.rglob("*.py") if not path.match("test_*")]
    code = "\n".join(path.read_text("utf-8") for path in modules if path.name != "planted.py")
    return [name for name, calls in READS.items() if re.search(calls, code)]


def cell_text(values: Mapping[str, object]) -> str:
    """The first cell, with these values for the names in capitals of first_cell.py."""
    text = inspect.getsource(first_cell)
    _, _, code = text.partition('"""\n\n')
    imports, _, rest = code.partition(OWN)
    _, _, same = rest.partition(SAME)
    lines = []
    for name, value in values.items():
        shown = _payload(value) if name == "PAYLOAD" else pformat(value, sort_dicts=False)
        lines.append(f"{name} = {shown}\n")
    return f"{TITLE}{imports}{''.join(lines)}\n{same.lstrip()}"


def _payload(parts: tuple[str, ...]) -> str:
    """The parts as Python, in lines that editors can bear."""
    return "(\n" + "".join(f"    (\n{_in_lines(part)}    ),\n" for part in parts) + ")"


def _in_lines(part: str) -> str:
    pieces = [part[start : start + LINE] for start in range(0, len(part), LINE)]
    return "".join(f'        "{piece}"\n' for piece in pieces)


def handed_out(notebook: Notebook, values: Mapping[str, object], path: Path) -> Notebook:
    """The notebook as it will lie at `path`; CourseError where it is larger than LARGEST."""
    cells = list(_cells(notebook, cell_text(values)))
    made = Notebook(path, path.name, notebook.content).with_cells(cells)
    size = len(made.to_bytes())
    if size > LARGEST:
        raise CourseError(f"{path.name} would have {size:,} bytes; at most {LARGEST:,} are saved.")
    return made


def _cells(notebook: Notebook, first: str) -> Iterator[dict]:
    for cell in notebook.cells:
        if "setup" in tags_of(cell):
            yield cell | {"source": first.splitlines(keepends=True), "metadata": FOLDED}
        elif cell["cell_type"] == "markdown":
            text = RELATIVE_LINK.sub(r"\1", source_of(cell))
            yield cell | {"source": text.splitlines(keepends=True)}
        else:
            yield cell


def start_pages(lessons: Sequence[Lesson], wheels: Iterable[str], made: Iterable[str]) -> Files:
    """START.md, and a notebook with the same text."""
    says = TEXTS["handout"]
    data = [name for name in made if name in READS]
    text = says["start"].format(
        lessons="".join(_row(lesson) for lesson in lessons),
        wheels=" and ".join(f"`{name}`" for name in wheels),
        data=says["data"].format(files=", ".join(f"`{name}`" for name in data)) if data else "",
    )
    cell = {"cell_type": "markdown", "id": "start", "metadata": {}}
    cell["source"] = text.splitlines(keepends=True)
    content = {"cells": [cell], "metadata": {"kernelspec": KERNELSPEC}}
    content |= {"nbformat": 4, "nbformat_minor": 5}
    page = Notebook(Path("START.ipynb"), "START.ipynb", content)
    return {"START.md": text.encode(), "START.ipynb": page.to_bytes()}


def _row(lesson: Lesson) -> str:
    """The lesson's line in the table: its link, its minutes, the data that it reads."""
    needs = TEXTS["handout"]["needs"]
    said = ", ".join(needs[name] for name in data_of(lesson)) or "nothing"
    return f"| [{lesson.title}]({lesson.name}.ipynb) | {lesson.minutes} | {said} |\n"
