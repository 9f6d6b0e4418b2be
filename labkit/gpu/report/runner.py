"""Runs the sections of the report, each in a process of its own with a limit in seconds.

A section that hangs is ended, with all processes that it started; one that dies is named with its
last words. What it had done until then stands in the report, and the next section begins.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from labkit.gpu.report.rows import stopped

SECTIONS: dict[str, dict] = tomllib.loads(
    Path(__file__).with_name("sections.toml").read_text("utf-8")
)
CLONE = Path(__file__).resolve().parents[3]
LESSONS = "labkit_lessons"  # whose solutions are measured
WHOLE = 480.0  # seconds for all sections together
SLOWER = 10  # times as long may a dry run take, on whatever machine
LEAST = 8.0  # seconds; with less left, a section is not begun


class Ended(NamedTuple):
    """How a process ended: its exit code, None if it had to be stopped, and its last words."""

    code: int | None
    words: str


def command(name: str, dry: bool) -> list[str]:
    """What runs one section; `--rows FILE` and `--earlier FILE` are still to be added."""
    start = [sys.executable, "-P", "-m", "labkit.gpu.report.section", name]
    return start + (["--dry-run"] if dry else [])


def environment(folder: Path) -> dict[str, str]:
    """What a section runs in. Where only a clone is here, links in `folder` stand for an install.

    A report needs no labkit that is installed; the lessons' package is found in no other way.
    """
    if find_spec(LESSONS) is not None:
        return dict(os.environ)
    lessons = folder / LESSONS / "gpu"
    lessons.parent.mkdir()
    lessons.symlink_to(CLONE / "chapters" / "01_gpu" / "source")
    Path(folder, "numba_simt").symlink_to(CLONE / "simt" / "numba_simt")
    paths = [str(folder), str(CLONE), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def ended(
    line: Sequence[str | Path], seconds: float, env: Mapping[str, str] | None = None
) -> Ended:
    """Runs a process and all that it starts for so many seconds at most."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(line, stdout=said, stderr=said, start_new_session=True, env=env)
        try:
            code = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end_group(process)
        said.seek(0)
        words = said.read().decode("utf-8", "replace").split()
    return Ended(code, " ".join(words[-60:])[-1000:])


def _end_group(process: subprocess.Popen) -> None:
    """Ends the process, and what it left running, which has its group."""
    with suppress(ProcessLookupError):  # nothing is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def section(name: str, line: list[str], seconds: float, earlier: dict) -> dict:
    """One section for report.json: how it ended, how long it took, and its rows.

    `line` is the command that runs it.
    """
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="labkit-report-") as folder:
        rows = Path(folder, "rows")
        before = Path(folder, "earlier")
        before.write_text(json.dumps(earlier), "utf-8")
        env = environment(Path(folder))
        end = ended([*line, "--rows", rows, "--earlier", before], seconds, env)
        plan, done = read(rows)
    taken = time.monotonic() - start
    state = "done"
    why = ""
    if end.code is None:
        state = "stopped"
        why = f"It did not end within {seconds:.0f} seconds and was stopped."
    elif end.code != 0:
        state = "died"
        why = f"It ended with code {end.code}: {end.words}"
    missing = [what for what in plan if what not in {row["what"] for row in done}]
    done += [{"what": what} | stopped("not reached", "") for what in missing]
    return {"state": state, "why": why, "seconds": round(taken, 1), "rows": done}


def read(rows: Path) -> tuple[list[str], list[dict]]:
    """The names of all rows that a section wanted to do, and those that it did.

    A line that was not written to its end does not count.
    """
    plan: list[str] = []
    done: list[dict] = []
    lines = rows.read_text("utf-8").splitlines() if rows.exists() else []
    for line in lines:
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            continue
        if "plan" in found:
            plan = found["plan"]
        else:
            done.append(found)
    return plan, done


def run(
    wanted: Sequence[str],
    dry: bool,
    line_of: Callable[[str, bool], list[str]] = command,
    whole: float = WHOLE,
) -> Iterator[tuple[str, dict]]:
    """Each wanted section in turn, with its name; `whole`: seconds for all of them."""
    slower = SLOWER if dry else 1
    end = time.monotonic() + slower * whole
    earlier: dict[str, dict] = {}
    for name in wanted:
        left = end - time.monotonic()
        if left < LEAST:
            why = f"The {whole / 60:.0f} minutes of a report were over."
            found = {"state": "not reached", "why": why, "seconds": 0.0, "rows": []}
        else:
            limit = min(slower * SECTIONS[name]["seconds"], left)
            found = section(name, line_of(name, dry), limit, earlier)
        earlier[name] = found
        yield name, found
