"""Runs a notebook in a fresh kernel and stores what it prints, but nothing that changes from run to
run: no execution times, and one stream is one output, however the kernel happened to cut it.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labkit.course import CourseError, rules
from labkit.course.notebook import code_cells, located

# These only end a hang: ten times what a whole lesson takes on an idle machine.
CELL_SECONDS = 600
KERNEL_SECONDS = 600  # until it has started, and until a cell's last outputs have come


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """What lessons run in: no progress recorded, no download, no personal IPython start-up."""
    with tempfile.TemporaryDirectory(prefix="labkit-ipython-") as folder:
        yield {**os.environ, "LABKIT_PROGRESS": "off", "LABKIT_OFFLINE": "1", "IPYTHONDIR": folder}


def execute(notebook: dict, folder: Path, name: str) -> dict:
    """A copy of `notebook` with counts and outputs, run in `folder`.

    Raises CourseError naming notebook, cell and first line when a cell raises, writes to stderr,
    takes more than CELL_SECONDS or kills its kernel.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    folder.mkdir(parents=True, exist_ok=True)
    started: list[int] = []  # indices of cells
    client = NotebookClient(
        nbformat.reads(json.dumps(notebook), as_version=4),
        kernel_name="python3",
        timeout=CELL_SECONDS,
        startup_timeout=KERNEL_SECONDS,
        iopub_timeout=KERNEL_SECONDS,  # nbclient's own 4 s would lose outputs on a busy machine
        raise_on_iopub_timeout=True,
        record_timing=False,
        on_cell_execute=lambda cell, cell_index: started.append(cell_index),
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        with environment() as env:
            done = client.execute(env=env)
    except CellExecutionError as error:
        what = f"raises {error.ename}: {error.evalue}"
    except CellTimeoutError:
        what = f"runs longer than {CELL_SECONDS} s."
    except DeadKernelError:
        what = "ends its kernel."
    else:
        for cell in code_cells(done):
            cell.outputs = merged(cell.outputs)
        ran = json.loads(nbformat.writes(done))  # long texts are lists of lines now
        for sentence in rules.outputs(ran, name):  # stderr
            raise CourseError(sentence)
        return {**notebook, "cells": ran["cells"]}
    raise CourseError(f"{located(notebook, name)[started[-1]][0]} {what}")


def merged(outputs: list[dict]) -> list[dict]:
    """Consecutive pieces of one stream as one; nbclient's own option would reorder outputs."""
    result: list[dict] = []
    for output in outputs:
        if result and "name" in output and output["name"] == result[-1].get("name"):
            result[-1]["text"] += output["text"]
        else:
            result.append(output)
    return result
