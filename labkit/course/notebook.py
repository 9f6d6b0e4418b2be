"""One notebook as plain JSON: read, cleared, sealed, written.

Importing nbformat alone takes longer than `labkit build` may take on an unchanged lesson.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from labkit.course import CourseError
from labkit.course.generated import GeneratedFile

# Whether a JSON value has the shape of a notebook, as far as the course reads it.
#
# A key that is absent is no fault here: what must be there is for the rules to say.


def is_text(value: Any) -> bool:
    """nbformat allows one string or a list of lines."""
    return isinstance(value, str) or is_list_of(value, lambda line: isinstance(line, str))


def is_list_of(value: Any, fits: Callable[[Any], bool]) -> bool:
    """A list whose elements all fit."""
    return isinstance(value, list) and all(fits(element) for element in value)


def is_dict_with(value: Any, **fits: Callable[[Any], bool]) -> bool:
    """A dict whose values fit, of the keys named and there."""
    if not isinstance(value, dict):
        return False
    return all(fits_here(value[key]) for key, fits_here in fits.items() if key in value)


def is_dict(value: Any) -> bool:
    """Any dict."""
    return isinstance(value, dict)


def is_name(value: Any) -> bool:
    """Any string."""
    return isinstance(value, str)


def is_metadata(value: Any) -> bool:
    """The notebook's own metadata: its kernel, and what the course adds."""
    return is_dict_with(value, kernelspec=is_dict, labkit=is_dict)


def is_cell(value: Any) -> bool:
    """A cell of code or of Markdown."""
    return is_dict_with(
        value,
        cell_type=is_name,
        source=is_text,
        metadata=_is_metadata_of_cell,
        outputs=lambda outputs: is_list_of(outputs, _is_output),
    )


def _is_metadata_of_cell(value: Any) -> bool:
    return is_dict_with(value, tags=lambda tags: is_list_of(tags, is_name), holds=is_dict)


def _is_output(value: Any) -> bool:
    return is_dict_with(
        value,
        name=is_name,
        text=is_text,
        data=_is_data,
        metadata=_is_metadata_of_pictures,
    )


def _is_data(value: Any) -> bool:
    return is_dict_with(value, **{"text/plain": is_text, "text/html": is_text})


def _is_metadata_of_pictures(value: Any) -> bool:
    """Each picture's own metadata, with its alt text."""
    kinds = ("image/png", "image/jpeg", "image/gif", "image/svg+xml")
    return is_dict_with(value, **dict.fromkeys(kinds, is_dict))


KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
NOT_RUN = {"execution_count": None, "outputs": []}
SEAL = "outputs_sha256"
ITEMS = "items_sha256"  # of what the lesson's file of texts says
HOLDS = "holds"  # of a Markdown cell: {expression: True; None before the notebook ran}


@dataclass(frozen=True)
class Notebook:
    """A notebook and where it lies, or will lie. Its content is never changed in place."""

    path: Path
    name: str  # as messages call it
    content: dict  # the JSON: cells, metadata, nbformat

    @classmethod
    def read(cls, path: Path, name: str) -> "Notebook":
        """CourseError names what is not a notebook, with the line or the cell."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, RecursionError) as error:  # its sentence tells the line, if any
            raise CourseError(f"{name} is not valid JSON: {error}.") from error
        cells = content.get("cells") if isinstance(content, dict) else None
        if not isinstance(cells, list) or not is_metadata(content.get("metadata")):
            raise CourseError(f"{name} is JSON, but not a notebook: it lacks cells or metadata.")
        for number, cell in enumerate(cells, 1):
            if not is_cell(cell):
                raise CourseError(f"{name}, cell {number} is not a cell as notebooks have it.")
        return cls(path, name, content)

    @property
    def cells(self) -> list[dict]:
        """All cells, in order."""
        return self.content["cells"]

    @cached_property
    def code_cells(self) -> list[dict]:
        """The cells of code, in order."""
        return [cell for cell in self.cells if cell.get("cell_type") == "code"]

    @cached_property
    def markdown(self) -> str:
        """The text of all Markdown cells."""
        cells = [cell for cell in self.cells if cell.get("cell_type") == "markdown"]
        return "\n\n".join(source_of(cell) for cell in cells)

    @property
    def course_metadata(self) -> dict:
        """What the course notes in a notebook: title, minutes, needs, the source's hash."""
        return self.content["metadata"].get("labkit", {})

    def located(self, kind: str = "") -> list[tuple[str, dict]]:
        """Cells, of one kind or all, with what messages call them: notebook, number, first line."""
        found = []
        for number, cell in enumerate(self.cells, 1):
            if kind in ("", cell.get("cell_type")):
                text = source_of(cell).strip() or "(empty)"
                found.append((f"{self.name}, cell {number} (`{text.splitlines()[0]}`)", cell))
        return found

    def cleared(self) -> "Notebook":
        """As it was before execution: without outputs, outcomes, their digest and counts."""
        cells = [cell | NOT_RUN if cell.get("cell_type") == "code" else cell for cell in self.cells]
        cells = [_with_outcome(cell, None) for cell in cells]
        notes = {key: value for key, value in self.course_metadata.items() if key != SEAL}
        return self._with(cells, notes)

    def with_outputs_of(self, stored: "Notebook") -> "Notebook":
        """This text with the counts and outputs of a notebook that has the same steps."""
        ran = iter(stored.code_cells)
        cells = []
        for cell in self.cells:
            if cell["cell_type"] == "code":
                old = next(ran)
                cell = cell | {key: old[key] for key in NOT_RUN}
            cells.append(cell)
        return self.with_cells(cells).holding()

    def holding(self) -> "Notebook":
        """The same notebook, with all its relations found to hold."""
        return self.with_cells([_with_outcome(cell, True) for cell in self.cells])

    def steps(self) -> list[str | list[str]]:
        """What running it evaluates, in order: code, and the relations of a Markdown cell."""
        found: list[str | list[str]] = []
        for cell in self.cells:
            if cell.get("cell_type") == "code":
                found.append(source_of(cell))
            elif holds_of(cell):
                found.append(sorted(holds_of(cell)))
        return found

    def has_items_of(self, stored: "Notebook") -> bool:
        """Whether the stored outputs show today's texts.

        Nobody knows of a notebook that was built before their digest was noted: that one passes.
        """
        now = self.course_metadata.get(ITEMS)
        return stored.course_metadata.get(ITEMS, now) == now

    def with_cells(self, cells: list[dict]) -> "Notebook":
        """The same notebook with other cells, as a kernel gives them back."""
        return replace(self, content={**self.content, "cells": cells})

    def outputs_sha256(self) -> str:
        """The digest of all outputs and outcomes, by which an edit by hand shows."""
        shown = [cell.get("outputs") for cell in self.code_cells]
        shown += [holds_of(cell) for cell in self.cells if holds_of(cell)]
        return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()

    def sealed(self) -> "Notebook":
        """With the digest of its outputs."""
        return self._with(self.cells, self.course_metadata | {SEAL: self.outputs_sha256()})

    def has_whole_seal(self) -> bool:
        """Whether its outputs are those that a build stored."""
        return self.course_metadata.get(SEAL) == self.outputs_sha256()

    def to_bytes(self) -> bytes:
        """Its file: sorted keys, one space of indentation, as nbformat writes it."""
        text = json.dumps(self.content, indent=1, sort_keys=True, ensure_ascii=False)
        return (text + "\n").encode()

    def write(self) -> bool:
        """Write it whole or not at all, and only where it changes something. True if written."""
        return GeneratedFile(self.path, self.to_bytes()).write()

    def _with(self, cells: list[dict], notes: dict) -> "Notebook":
        metadata = {**self.content["metadata"], "labkit": notes}
        return replace(self, content={**self.content, "cells": cells, "metadata": metadata})


@dataclass(frozen=True)
class StoredNotebook:
    """What lies where a notebook belongs: read once, for all that ask."""

    path: Path
    name: str
    size: int = 0  # bytes
    notebook: Notebook | None = None
    broken: str = ""  # why it cannot be read, as a sentence

    @property
    def is_there(self) -> bool:
        """Whether there is a file at all."""
        return self.notebook is not None or self.broken != ""


def read_stored(path: Path, name: str) -> StoredNotebook:
    """The file at `path`, whole, broken or missing."""
    if not path.is_file():
        return StoredNotebook(path, name)
    size = path.stat().st_size
    try:
        return StoredNotebook(path, name, size, notebook=Notebook.read(path, name))
    except CourseError as error:
        return StoredNotebook(path, name, size, broken=str(error))


def source_of(cell: dict) -> str:
    """A cell's text; nbformat allows one string or a list of lines."""
    return "".join(cell.get("source", ""))


def tags_of(cell: dict) -> list[str]:
    """A cell's tags."""
    return cell.get("metadata", {}).get("tags", [])


def holds_of(cell: dict) -> dict:
    """The relations of a cell with their outcomes."""
    return cell.get("metadata", {}).get(HOLDS, {})


def _with_outcome(cell: dict, outcome: bool | None) -> dict:
    """The cell, its relations with this outcome."""
    if not holds_of(cell):
        return cell
    return cell | {"metadata": cell["metadata"] | {HOLDS: dict.fromkeys(holds_of(cell), outcome)}}
