"""The same program on Numba's own simulator: where its output and exit code differ.

The simulator is chosen when Numba is imported, so it has a process of its own. It runs block after
block with a thread of Python for each CUDA thread, and may take very long.
"""

import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba_simt.command.running import Program


class _Both(io.TextIOBase):
    """A stream whose text goes to two others."""

    def __init__(self, shown: io.TextIOBase, kept: io.StringIO) -> None:
        self.shown, self.kept = shown, kept

    def write(self, text: str) -> int:
        """Shown first, then kept."""
        self.shown.write(text)
        return self.kept.write(text)

    def flush(self) -> None:
        """What was shown."""
        self.shown.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self.shown, name)


@contextmanager
def recorded(wanted: bool) -> Iterator[io.StringIO]:
    """What is printed meanwhile, which is printed all the same; empty if it is not `wanted`."""
    kept, before = io.StringIO(), sys.stdout
    if wanted:
        sys.stdout = _Both(before, kept)
    try:
        yield kept
    finally:
        sys.stdout = before


def compare(program: Program, output: str, code: int) -> str:
    """A sentence: whether the program prints and ends the same on Numba's simulator."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *_words(program, Path(folder)), *program.arguments]
        env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
        try:
            done = subprocess.run(
                command, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
            )
        except KeyboardInterrupt:
            return "The comparison with Numba's simulator was ended by Ctrl-C."
        except OSError as error:
            return f"There is no comparison with Numba's simulator: {error}."
    last = done.stderr.strip().splitlines()[-1:] or [""]
    if done.returncode and not code:
        return f"On Numba's simulator it ends with exit code {done.returncode}: {last[0]}"
    if done.returncode != code:
        return f"On Numba's simulator it ends with exit code {done.returncode}, here with {code}."
    return _difference(output.splitlines(), done.stdout.splitlines())


def _words(program: Program, folder: Path) -> list[str]:
    """What stands behind `python`; a notebook's cells become a script."""
    if program.module:
        return ["-m", program.name]
    if program.cells is None:
        return [program.name]
    script = folder / "notebook.py"
    script.write_text("display = print\n" + "\n".join(one.code for one in program.cells), "utf-8")
    return [str(script)]


def _difference(here: list[str], there: list[str]) -> str:
    """Where the first line differs."""
    for number in range(max(len(here), len(there))):
        ours, theirs = (one[number : number + 1] for one in (here, there))
        if ours != theirs:
            one, other = (f"`{text[0]}`" if text else "nothing more" for text in (ours, theirs))
            return (
                f"Line {number + 1} of its output is {one} here, and {other} on Numba's simulator."
            )
    return "On Numba's simulator it prints the same and ends the same."
