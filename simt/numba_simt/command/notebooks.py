"""A notebook as a program: its code cells in their order, without the magics.

What IPython alone understands is left out, and told: lines that begin with `%` or `!`, and cells
that begin with `%%`. Of `%time`, `%timeit` and `%%time` the Python code runs, once.
"""

import ast
import json
import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_TIMES = ("time", "timeit", "capture", "prun")  # magics whose body is Python
_LINE = re.compile(r"(?P<indent>\s*)(?:[%!]|\w+\s*=\s*[%!]).*|(?P<indent2>\s*)[\w.]+\?+\s*")
_TIMED = re.compile(rf"(\s*)%(?:{'|'.join(_TIMES)})\s+(?:-\w+(?:\s+\d+)?\s+)*(?P<code>.*)")


class Cell(NamedTuple):
    """A code cell; `left_out` are the lines of it that do not run."""

    file: str  # as tracebacks and reports name it
    code: str
    left_out: tuple[str, ...]


def read_cells(path: Path) -> list[Cell]:
    """The code cells of a notebook; ValueError for what is none."""
    try:
        content = json.loads(path.read_text("utf-8"))
        cells = content["cells"] if "cells" in content else content["worksheets"][0]["cells"]
        sources = [
            "".join(cell.get("source", cell.get("input", "")))
            for cell in cells
            if cell["cell_type"] == "code"
        ]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is no notebook that can be read ({error}).") from None
    return [_cell(f"{path}, cell {n}", source) for n, source in enumerate(sources, 1)]


def _cell(file: str, source: str) -> Cell:
    left_out: list[str] = []
    code = "\n".join(_python_of(source, left_out)) + "\n"
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    return Cell(file, code, tuple(left_out))


def _python_of(source: str, left_out: list[str]) -> Iterator[str]:
    """The lines that run, each at its number; `left_out` is filled with the others."""
    lines = source.splitlines()
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].startswith("%%"):
        left_out.append(lines[first].strip())
        if re.match(r"%%(\w+)", lines[first])[1] not in _TIMES:
            return
        lines[first] = ""
    if _is_python("\n".join(lines)):
        yield from lines
        return
    for line in lines:
        timed, magic = _TIMED.fullmatch(line), _LINE.fullmatch(line)
        if timed and _is_python(timed["code"]):
            left_out.append(f"{line.strip()} (run once, untimed)")
            yield timed[1] + timed["code"]
        elif magic:
            left_out.append(line.strip())
            yield (magic["indent"] or magic["indent2"] or "") + "pass"
        else:
            yield line


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
