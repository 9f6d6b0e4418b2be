"""Submissions for the tests: notebooks of the lesson on gradients, with answers of all kinds."""

import json
from pathlib import Path

from labkit.course.config import config
from labkit.course.grading.closed_process import ClosedProcess, Limits
from labkit.course.grading.rooms import room

LESSON = "01_gpu/1_gradients"
ID = "gpu.one_output"
RIGHT = "def one_output(x, w, b):\n    return np.sum(x * w) + b\n"
WRONG = "def one_output(x, w, b):\n    return np.sum(x * w) - b\n"
CHECK = f'one_output = check("{ID}", one_output)\n'
IMPORTS = "import numpy as np\nfrom labkit import check, predict, quiz\n"


def course_notebook(place: str = LESSON) -> dict:
    """The learner's notebook of a lesson, as JSON."""
    chapter, name = place.split("/")
    return json.loads((config().chapters / chapter / f"{name}.ipynb").read_text("utf-8"))


def code(text: str, tags: tuple[str, ...] = ()) -> dict:
    """A cell of code."""
    cell = {"cell_type": "code", "execution_count": None, "id": "a", "outputs": []}
    return cell | {"metadata": {"tags": list(tags)}, "source": text}


def text_cell(text: str) -> dict:
    """A cell of Markdown."""
    return {"cell_type": "markdown", "id": "m", "metadata": {}, "source": text}


def submit(folder: Path, name: str, *cells: str | dict, **metadata: object) -> Path:
    """A notebook with these cells alone, and the lesson's metadata."""
    content = course_notebook()
    made = [cell if isinstance(cell, dict) else code(cell) for cell in cells]
    content["cells"] = [text_cell("Set up."), code(IMPORTS), *made]
    content["metadata"]["labkit"] |= metadata
    file = folder / f"{name}.ipynb"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content), "utf-8")
    return file


def has_rooms(folder: Path) -> bool:
    """Whether this machine has closed rooms at all."""
    from labkit.course import CourseError
    from labkit.course.grading.closed_process import Ended

    try:
        with ClosedProcess(room(folder), "labkit.course.grading.student_process", 61_900) as one:
            one.ask({"cells": [], "given": {}}, 60)
    except (CourseError, Ended):
        return False
    return True


SMALL = Limits(memory=2**30, disk=32 * 2**20, processes=64)
