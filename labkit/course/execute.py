"""Runs a notebook in a fresh kernel and stores what it prints, but nothing that changes from run to
run: no execution times, and one stream is one output, however the kernel happened to cut it.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from labkit.course import CourseError
from labkit.course.kernel_files import through_files
from labkit.course.lesson_rules.output_rules import outputs
from labkit.course.notebook import Notebook
from labkit.course.source.relations import Relation, refuse_false

# These only end a hang: ten times what a whole lesson takes on an idle machine.
CELL_SECONDS = 600
KERNEL_SECONDS = 600  # until it has started, and until a cell's last outputs have come


@contextmanager
def environment() -> Iterator[dict[str, str]]:
    """What lessons run in: no progress recorded, no download, no personal IPython start-up."""
    with tempfile.TemporaryDirectory(prefix="labkit-ipython-") as folder:
        yield {**os.environ, "LABKIT_PROGRESS": "off", "LABKIT_OFFLINE": "1", "IPYTHONDIR": folder}


def execute(
    notebook: Notebook, relations: Mapping[int, Sequence[Relation]] | None = None
) -> Notebook:
    """The notebook with counts and outputs, run in its own folder.

    relations  what must hold when the cell at a place has run, by places

    Raises CourseError naming notebook, cell and first line when a cell raises, writes to stderr,
    takes more than CELL_SECONDS or kills its kernel; or naming a relation that does not hold.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    folder = notebook.path.parent
    folder.mkdir(parents=True, exist_ok=True)
    started: list[int] = []  # indices of cells

    async def evaluate(cell: Any, cell_index: int, execute_reply: dict) -> None:
        below = (relations or {}).get(cell_index, ())
        if below and execute_reply["content"]["status"] == "ok":
            await refuse_false(client.kc, below, notebook.name, CELL_SECONDS)

    client = NotebookClient(
        nbformat.reads(json.dumps(notebook.content), as_version=4),
        kernel_name="python3",
        kernel_manager_class=through_files(AsyncKernelManager),
        timeout=CELL_SECONDS,
        startup_timeout=KERNEL_SECONDS,
        iopub_timeout=KERNEL_SECONDS,  # nbclient's own 4 s would lose outputs on a busy machine
        raise_on_iopub_timeout=True,
        record_timing=False,
        on_cell_execute=lambda cell, cell_index: started.append(cell_index),
        on_cell_executed=evaluate,
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
        ran = _as_stored(done, notebook)
        return ran.holding() if relations else ran
    here, _ = notebook.located()[started[-1]]
    raise CourseError(f"{here} {what}")


def _as_stored(done: Any, notebook: Notebook) -> Notebook:
    """What nbclient ran, as plain JSON; CourseError if a cell wrote to stderr."""
    import nbformat

    for cell in done.cells:
        if cell.cell_type == "code":
            cell.outputs = merged(cell.outputs)
    content = json.loads(nbformat.writes(done))  # long texts are lists of lines now
    ran = notebook.with_cells(content["cells"])
    for sentence in outputs(ran):
        raise CourseError(sentence)
    return ran


def merged(outputs: list[dict]) -> list[dict]:
    """Consecutive pieces of one stream as one; nbclient's own option would reorder outputs."""
    result: list[dict] = []
    for output in outputs:
        if result and "name" in output and output["name"] == result[-1].get("name"):
            result[-1]["text"] += output["text"]
        else:
            result.append(output)
    return result
