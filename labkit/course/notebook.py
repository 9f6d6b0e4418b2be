"""The notebooks as plain JSON: generated from a lesson, read, cleared and written.

Importing nbformat alone takes longer than `labkit build` may take on an unchanged lesson.
"""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path

from labkit.course import TEXTS, CourseError
from labkit.course.config import Config
from labkit.course.lesson import TWINS, Lesson, split_solution
from labkit.files import write_whole

# The shape of a notebook, as far as the course reads it; see `_fits`.
TEXT = (str, [str])
ALT = {"image/png": {}, "image/jpeg": {}, "image/gif": {}, "image/svg+xml": {}}
DATA = {"text/plain": TEXT, "text/html": TEXT}
OUTPUT = {"name": str, "text": TEXT, "data": DATA, "metadata": ALT}
CELL = {"cell_type": str, "source": TEXT, "metadata": {"tags": [str]}, "outputs": [OUTPUT]}
HEAD = {"kernelspec": {}, "labkit": {}}
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def setup_cell(config: Config) -> str:
    """The first code cell of every lesson, with the course's address and tag in it."""
    says = TEXTS["setup_cell"]
    colab = says["colab"].format(address=config.address, tag=config.tag)
    return says["every_lesson"].format(colab=colab if config.address else says["without_address"])


def generate(lesson: Lesson, twin: str, config: Config) -> dict:
    """The notebook that `lesson` stands for, without outputs and execution counts."""
    badge, cells = _badge(lesson, twin, config), []
    for cell, cell_id in zip(lesson.cells, cell_ids(lesson), strict=True):
        text = split_solution(cell.text)[TWINS.index(twin)]
        if "setup" in cell.tags:
            text = setup_cell(config)
        elif cell.type == "markdown":
            text = badge + (_deeper(text) if twin == "solution" else text)
            badge = ""  # it stands above the first text
        made = {"cell_type": cell.type, "id": cell_id, "source": text.splitlines(keepends=True)}
        cells.append(made | {"metadata": {"tags": list(cell.tags)} if cell.tags else {}})
    labkit = {"title": lesson.title, "minutes": lesson.minutes, "needs": list(lesson.needs)}
    labkit |= {"source_sha256": lesson.sha256, "twin": twin}
    metadata = {"kernelspec": KERNELSPEC, "labkit": labkit, "language_info": {"name": "python"}}
    return cleared({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def cell_ids(lesson: Lesson) -> list[str]:
    """One id per cell, from what its source says; both twins share them, edits move no others."""
    seen, ids = Counter(), []
    for cell in lesson.cells:
        says = f"{cell.type}\n{split_solution(cell.text)[1]}"
        name = "setup" if "setup" in cell.tags else hashlib.sha256(says.encode()).hexdigest()[:12]
        seen[name] += 1
        ids.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return ids


def _badge(lesson: Lesson, twin: str, config: Config) -> str:
    """Colab's badge; "" unless the course's address is on GitHub."""
    github = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(\.git)?/?", config.address)
    if github is None:
        return ""
    colab, path = "https://colab.research.google.com", config.relative(lesson.notebook(twin))
    link = f"{colab}/github/{github[1]}/blob/{config.tag}/{path}"
    return f"[![Open in Colab]({colab}/assets/colab-badge.svg)]({link})\n\n"


def _deeper(text: str) -> str:
    """The solution lies one folder deeper, so its relative links climb one step more."""
    link = r"(\]\(|<(?:img|a)\b[^>]*?\b(?:src|href)=\")(?!\w+:|#|/|<)"
    return re.sub(link, r"\1../", text)


def source_of(cell: dict) -> str:
    """A cell's text; nbformat allows one string or a list of lines."""
    return "".join(cell.get("source", ""))


def tags_of(cell: dict) -> list[str]:
    return cell.get("metadata", {}).get("tags", [])


def located(made: dict, name: str, kind: str = "") -> list[tuple[str, dict]]:
    """Cells, of one kind or all, with what messages call them: notebook, number, first line."""
    found = []
    for number, cell in enumerate(made["cells"], 1):
        first = (source_of(cell).strip() or "(empty)").splitlines()[0]
        if kind in ("", cell.get("cell_type")):
            found.append((f"{name}, cell {number} (`{first}`)", cell))
    return found


def code_cells(made: dict) -> list[dict]:
    return [cell for cell in made["cells"] if cell.get("cell_type") == "code"]


def markdown(made: dict) -> list[str]:
    return [source_of(cell) for cell in made["cells"] if cell.get("cell_type") == "markdown"]


def cleared(made: dict) -> dict:
    """A copy as it was before execution: without outputs, their digest and execution counts."""
    empty = {"execution_count": None, "outputs": []}
    cells = [cell | empty if cell.get("cell_type") == "code" else cell for cell in made["cells"]]
    labkit = made["metadata"].get("labkit", {})
    labkit = {key: value for key, value in labkit.items() if key != "outputs_sha256"}
    return {**made, "cells": cells, "metadata": {**made["metadata"], "labkit": labkit}}


def outputs_sha256(made: dict) -> str:
    """The digest of all outputs of all code cells, by which an edit by hand shows."""
    shown = [cell.get("outputs") for cell in code_cells(made)]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()


def sealed(made: dict) -> dict:
    """A copy that carries the digest of its outputs."""
    labkit = made["metadata"]["labkit"] | {"outputs_sha256": outputs_sha256(made)}
    return {**made, "metadata": {**made["metadata"], "labkit": labkit}}


def read(path: Path, name: str) -> dict:
    """A notebook's JSON. What is not a notebook is named, with the line or the cell."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # its sentence tells the line, if there is one
        raise CourseError(f"{name} is not valid JSON: {error}.") from error
    match notebook:
        case {"cells": list(cells), "metadata": metadata} if _fits(metadata, HEAD):
            for number, cell in enumerate(cells, 1):
                if not _fits(cell, CELL):
                    raise CourseError(f"{name}, cell {number} is not a cell as notebooks have it.")
            return notebook
    raise CourseError(f"{name} is JSON, but not a notebook: it lacks cells or metadata.")


def _fits(value: object, shape: object) -> bool:
    """`shape`: a type, alternatives (tuple), [of every element], or {key: of its value, if any}."""
    match shape:
        case tuple():
            return any(_fits(value, one) for one in shape)
        case [one]:
            return isinstance(value, list) and all(_fits(element, one) for element in value)
        case dict():
            known = isinstance(value, dict) and value.keys() & shape.keys()
            return known is not False and all(_fits(value[key], shape[key]) for key in known)
    return isinstance(value, shape)


def to_bytes(notebook: dict) -> bytes:
    """The file of a notebook: sorted keys, one space of indentation, as nbformat writes it."""
    return (json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def write(path: Path, data: bytes) -> bool:
    """Write `data` whole or not at all, and only where it changes something. True if written."""
    if path.is_file() and path.read_bytes() == data:
        return False
    write_whole(path, data)
    return True
