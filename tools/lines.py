"""How much code labkit, its lessons and the SIMT machine have, and how dense it is (make lines).

For information only.

A line counts if it is neither blank nor a comment nor part of a docstring. Tokens are Python's own:
names, numbers, strings, operators, brackets. Tokens per line tell how much a reader has to take in
at once; beside them stand the same numbers of houses that we learn from.
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent / "labkit"
GROUND = "ground floor"  # the modules that lie directly in labkit/
LEFT_OUT = ("data",)
HOUSES = {"micrograd": 8.3, "nanoGPT": 8.4, "minitorch": 7.7}  # tokens per line
DENSEST = 10  # how many files are named
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Size(NamedTuple):
    """How much code there is."""

    lines: int
    tokens: int

    @property
    def density(self) -> float:
        """Tokens per line; 0 where there is no code."""
        return self.tokens / self.lines if self.lines else 0.0


def size_of(source: str) -> Size:
    """Lines and tokens of Python source, docstrings and comments apart."""
    apart = docstring_lines(source)
    lines: set[int] = set()
    tokens = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type in NO_CODE or first in apart:
            continue
        tokens += 1
        lines.update(range(first, last + 1))
    written = source.splitlines()
    return Size(sum(bool(written[line - 1].strip()) for line in lines), tokens)


def docstring_lines(source: str) -> set[int]:
    """The numbers of the lines on which docstrings stand."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    found: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, documented) or ast.get_docstring(node, clean=False) is None:
            continue
        docstring = node.body[0]
        found.update(range(docstring.lineno, docstring.end_lineno + 1))
    return found


def sizes(package: Path) -> dict[Path, Size]:
    """Every module of a package, by its path within it."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        inner = path.relative_to(package)
        if inner.parts[0] not in LEFT_OUT:
            found[inner] = size_of(path.read_text(encoding="utf-8"))
    return found


def report(package: Path) -> str:
    """The table of rooms, the houses beside it, and the densest files."""
    files = sizes(package)
    for path, size in sizes(package.parent / "simt" / "numba_simt").items():
        files[Path("simt", path)] = size
    lines: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for path, size in files.items():
        room = path.parts[0] if len(path.parts) > 1 else GROUND
        lines[room] += size.lines
        tokens[room] += size.tokens
    rows = [f"{'':<30} {'lines':>7} {'tokens per line':>16}"]
    for room in sorted(lines):
        rows.append(_row(room, Size(lines[room], tokens[room])))
    rows.append(_row("together", Size(lines.total(), tokens.total())))
    rows += _lessons(package.parent)
    houses = ", ".join(f"{name} {density}" for name, density in HOUSES.items())
    rows += ["", f"Houses we learn from, tokens per line: {houses}.", "", "The densest files:"]
    densest = sorted(files.items(), key=lambda entry: entry[1].density, reverse=True)
    rows += [_row(str(path), size) for path, size in densest[:DENSEST]]
    return "\n".join(rows)


def _lessons(root: Path) -> list[str]:
    """A row for the lessons of each chapter: what ships of their folders, the sources apart."""
    rows = []
    for chapter in sorted(root.glob("chapters/*/source")):
        lines = tokens = 0
        for path in sorted(chapter.glob("*/**/*.py")):
            if not path.name.startswith(("lesson.", "planted.", "test_")):
                size = size_of(path.read_text(encoding="utf-8"))
                lines += size.lines
                tokens += size.tokens
        if lines:
            rows.append(_row(f"lessons of {chapter.parent.name}", Size(lines, tokens)))
    return rows


def _row(name: str, size: Size) -> str:
    return f"{name:<30} {size.lines:>7,} {size.density:>16.1f}"


if __name__ == "__main__":
    print(report(PACKAGE))
    sys.exit(0)
