"""What lies in a handout: notebooks with a first cell of their own, and the page to start with.

A learner's notebook has no outputs, and no links to files that its reader has not.
"""

import hashlib
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pprint import pformat

from labkit.course import TEXTS, CourseError
from labkit.course.catalogue import CHAPTERS
from labkit.course.config import Config
from labkit.course.folders import module_of
from labkit.course.handout import first_cell
from labkit.course.handout.payload import Files, common, data_file, own, packed
from labkit.course.handout.ready import SAMPLE
from labkit.course.notebook import KERNELSPEC, Notebook, source_of, tags_of
from labkit.course.source.lesson import Lesson

# Data that no cell carries, and the names in the code of a lesson by which it reads them: calls, or
# a room whose processes do.
READS = {
    SAMPLE: r"\bcifar10\(|\bphotographs\(|\bparameter_server\b",
    "convnet.safetensors": r"\bload_weights\(\)",
    "gpt.safetensors": r"\btrained\(\)",
}
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


def values_of(
    config: Config, lessons: Iterable[Lesson], files: Files, wheels: Files, variant: str = ""
) -> dict[str, dict[str, object]]:
    """What stands in each lesson's first cell, by the lesson's name.

    files     what the wheels hold, by where it lies once installed
    wheels    the wheels themselves
    variant   the name from which the data of the exercises' cases are drawn
    """
    address = f"git+{config.address}@{config.tag}"
    named = [f"numba-simt @ {address}#subdirectory=simt", f"labkit @ {address}"]
    rooms = {chapter.folder: chapter.extra for chapter in CHAPTERS}
    data = _digests({name: data_file(files, name) for name in READS})
    shared = packed(common(files))
    found = {}
    for lesson in lessons:
        payload = (shared, packed(own(files, module_of(lesson.path))))
        found[lesson.name] = {
            "LESSON": module_of(lesson.path),
            "ROOM": rooms.get(lesson.chapter.name, ""),
            "VARIANT": variant,
            "WHEELS": _digests(wheels),
            "ADDRESSES": named if config.address else [],
            "DATA": {name: data[name] for name in data_of(lesson)},
            "PAYLOAD_SHA256": hashlib.sha256("".join(payload).encode()).hexdigest(),
            "PAYLOAD": payload,
        }
    return found


def _digests(files: Files) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def handed_out(config: Config, lesson: Lesson, twin: str, values: Mapping[str, object]) -> Files:
    """One notebook by its place in the folder: the learner's without outputs.

    Raises CourseError where it would be larger than LARGEST.
    """
    stored = lesson.notebook(twin)
    notebook = Notebook.read(stored, config.relative(stored))
    if twin == "learner":
        notebook = notebook.cleared()
    cells = list(_cells(notebook, cell_text(values)))
    content = with_variant(notebook.content, str(values.get("VARIANT", "")))
    made = Notebook(stored, stored.name, content).with_cells(cells).to_bytes()
    if len(made) > LARGEST:
        size = f"{len(made):,} bytes; at most {LARGEST:,} are saved"
        raise CourseError(f"{stored.name} would have {size}.")
    return {stored.relative_to(config.chapters).as_posix(): made}


def with_variant(content: dict, variant: str) -> dict:
    """A notebook's JSON that bears the name of its variant, by which `labkit grade` knows it."""
    if not variant:
        return content
    notes = content["metadata"].get("labkit", {}) | {"variant": variant}
    return content | {"metadata": content["metadata"] | {"labkit": notes}}


def _cells(notebook: Notebook, first: str) -> Iterator[dict]:
    for cell in notebook.cells:
        if "setup" in tags_of(cell):
            yield cell | {"source": first.splitlines(keepends=True), "metadata": FOLDED}
        elif cell["cell_type"] == "markdown":
            text = RELATIVE_LINK.sub(r"\1", source_of(cell))
            yield cell | {"source": text.splitlines(keepends=True)}
        else:
            yield cell


def start_pages(lessons: Sequence[Lesson]) -> Files:
    """START.md of a class's folder with these lessons, a notebook of it, and rules for tutors."""
    text = TEXTS["handout"]["start"].format(lessons="".join(_row(lesson) for lesson in lessons))
    cell = {"cell_type": "markdown", "id": "start", "metadata": {}}
    cell["source"] = text.splitlines(keepends=True)
    content = {"cells": [cell], "metadata": {"kernelspec": KERNELSPEC}}
    content |= {"nbformat": 4, "nbformat_minor": 5}
    page = Notebook(Path("START.ipynb"), "START.ipynb", content)
    rules = TEXTS["handout"]["tutors"]["page"]
    return {
        "START.md": text.encode(),
        "START.ipynb": page.to_bytes(),
        "AI-TUTORS.md": rules.encode(),
    }


def teachers_page(folder: Path) -> Files:
    """START.md of the teacher's folder, which lies beside the class's `folder`."""
    return {"START.md": TEXTS["handout"]["teacher"].format(folder=folder.name).encode()}


def _row(lesson: Lesson) -> str:
    """The lesson's line in the table: its link, its minutes, the data that it reads."""
    needs = TEXTS["handout"]["needs"]
    said = ", ".join(needs[name] for name in data_of(lesson)) or "nothing"
    return f"| [{lesson.title}]({lesson.name}.ipynb) | {lesson.minutes} | {said} |\n"
