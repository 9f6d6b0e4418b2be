"""SystemVerilog sources: read from text or files, named, hashed, and laid out for a tool.

A lesson hands on a module as text, `labkit` has its own as files in `rtl/`; a tool wants files.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.fpga import arguments
from labkit.fpga.errors import RTLError, ToolError
from labkit.fpga.source_view import excerpt

RTL = Path(__file__).parent / "rtl"
Source = str | Path | Iterable[str | Path]

_MODULE = re.compile(r"^\s*module\s+(\w+)", re.MULTILINE)
_COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


@dataclass(frozen=True)
class Sources:
    """Files of one design, as (name, text), and the module at its top."""

    files: tuple[tuple[str, str], ...]
    top: str

    @property
    def digest(self) -> str:
        """SHA-256 over the names, the texts and the top: equal for equal designs only."""
        parts = [self.top]
        for name, text in self.files:
            parts += [name, text]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @property
    def names(self) -> list[str]:
        """The files' names, in order."""
        return [name for name, _ in self.files]

    def line(self, name: str, number: int) -> str:
        """Line `number` (from 1) of the file `name`, not indented; "" if there is none."""
        lines = dict(self.files).get(name, "").splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def quoted(self, name: str, number: int) -> str:
        """Line `number` of the file `name` with its neighbours, as they stand below a message."""
        return "\n" + excerpt(dict(self.files).get(name, ""), number)

    @contextmanager
    def laid_out(self) -> Iterator[Path]:
        """A temporary folder that holds the files; it is gone afterwards.

        Raises ToolError where they cannot be written, as on a disk that is full.
        """
        with TemporaryDirectory() as folder:
            try:
                for name, text in self.files:
                    (Path(folder) / name).write_text(text, "utf-8")
            except OSError as error:
                raise ToolError(
                    f"The source cannot be written to {folder}: {error.strerror}. Make room there, "
                    "or name another folder in the environment variable TMPDIR."
                ) from error
            yield Path(folder)


def read_sources(source: Source, top: str) -> Sources:
    """The sources of the module `top`.

    source   the text of one or more modules, a path of a file, or several of either.
             A text is called `<its first module>.sv` in messages.

    Raises RTLError when a file cannot be read, a text is no module, two files share a name, or no
    file declares `top`.
    """
    several = isinstance(source, Iterable) and not isinstance(source, str | Path | bytes)
    parts = list(source) if several else [source]
    if not parts:
        raise RTLError("There is no source: hand over the text of a module, or the path of a file.")
    files = [_read(part) for part in parts]
    names = [name for name, _ in files]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise RTLError(f"Two sources are called {twice[0]}: give each module once.")
    declared = [name for _, text in files for name in modules(text)]
    if not isinstance(top, str) or top not in declared:
        found = ", ".join(declared) or "no module at all"
        raise RTLError(f"There is no module {top!r} in the sources, which declare {found}.")
    return Sources(tuple(files), top)


def modules(text: str) -> list[str]:
    """The names of the modules that `text` declares, in order."""
    return _MODULE.findall(without_comments(text))


def with_support(answer: str, support: Iterable[str | Path]) -> list[str | Path]:
    """An answer, and those of its supporting sources that declare no module of the answer's own."""
    own = set(modules(answer))
    return [answer, *(part for part in support if own.isdisjoint(modules(_read(part)[1])))]


def without_comments(text: str) -> str:
    """`text` without comments and the insides of strings; every line stays in its place."""
    return _COMMENT_OR_STRING.sub(_blank, text)


def _blank(match: re.Match) -> str:
    if match.group().startswith('"'):
        return '"' + "\n" * match.group().count("\n") + '"'
    return re.sub(r"[^\n]", " ", match.group())


def _read(part: str | Path) -> tuple[str, str]:
    if isinstance(part, Path) or (isinstance(part, str) and _is_path(part)):
        path = Path(part)
        try:
            return path.name, path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise RTLError(f"The source {path} cannot be read: {error}.") from error
    if not isinstance(part, str):
        raise RTLError(
            "A source is the text of a module or the path of a file, and this one is "
            f"{arguments.shown(part)}."
        )
    declared = modules(part)
    if not declared:
        raise RTLError("The source declares no module: it should begin with `module name (...);`.")
    return f"{declared[0]}.sv", part


def _is_path(text: str) -> bool:
    return "\n" not in text and text.endswith((".sv", ".v"))
