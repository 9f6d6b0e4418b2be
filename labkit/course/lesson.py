"""A lesson as its author writes it: one source that carries the learner's text and the solution.

Inside a code cell

    # STUB:
    # dw = None
    # BEGIN SOLUTION
    dw = dy.T @ x
    # END SOLUTION

the learner's twin shows the stub lines un-commented, the solution twin the solution; neither shows
the markers. A solution without a stub leaves nothing behind.
"""

import ast
import hashlib
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from labkit.course import CourseError, percent
from labkit.course.percent import Cell

TWINS = ("learner", "solution")
PLAIN_TAGS = ("nbval-ignore-output", "picture", "setup", "timing")
EXERCISE_TAG = re.compile(r"exercise:[a-z0-9_]+\.[a-z0-9_]+")
STUB, BEGIN, END = MARKERS = ("# STUB:", "# BEGIN SOLUTION", "# END SOLUTION")


@dataclass(frozen=True)
class Lesson:
    path: Path  # chapters/<chapter>/source/<name>.py
    title: str
    minutes: int
    needs: tuple[str, ...]
    cells: tuple[Cell, ...]  # as written: a code cell may hold both twins' lines
    sha256: str  # of the source's text, the same whatever its line ends

    @property
    def name(self) -> str:
        """Chapter and lesson: `01_gpu/1_gradients_and_convolutions`."""
        return f"{self.path.parent.parent.name}/{self.path.stem}"

    @property
    def plain_name(self) -> str:
        """The lesson without chapter and number, as all its files are called."""
        return self.path.stem.partition("_")[2]

    def named_in(self, call: str) -> tuple[str, ...]:
        """The ids that its code gives to "check", "predict" or "quiz", each once."""
        code = "\n".join(cell.text for cell in self.cells if cell.type == "code")
        return tuple(dict.fromkeys(re.findall(rf"\b{call}\(\s*[\"']([\w.]+)[\"']", code)))

    def notebook(self, twin: str) -> Path:
        """Where the twin lies: beside `source/` for the learner, in `solutions/` the other."""
        folder = self.path.parent.parent
        return (folder if twin == "learner" else folder / "solutions") / f"{self.path.stem}.ipynb"


def load(path: Path, name: str) -> Lesson:
    """Read and examine a source. CourseError names file and line of whatever is malformed."""
    try:
        text = percent.plain(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CourseError(f"{name} is not UTF-8 text (byte {error.start}).") from error
    header, cells = percent.read(text, name)
    fields = _fields(header, f"{name}, line 1: the header")
    for cell in cells:
        _examine(cell, name)
    _examine_setup(cells, name)
    return Lesson(path, *fields, tuple(cells), hashlib.sha256(text.encode()).hexdigest())


def _fields(header: dict, here: str) -> tuple[str, int, tuple[str, ...]]:
    """title, minutes and needs."""
    jupyter = header.get("jupyter")
    spec = jupyter.get("kernelspec") if isinstance(jupyter, dict) else None
    if not isinstance(spec, dict) or spec.get("name") != "python3":
        raise CourseError(f"{here} must name the kernelspec python3 under `jupyter:`.")
    fields = header.get("labkit") or jupyter.get("labkit")
    for field, kind in {"title": str, "minutes": int, "needs": list}.items():
        if not isinstance(fields, dict) or not isinstance(fields.get(field), kind):
            do = "write `labkit: {title: ..., minutes: 40, needs: []}`."
            raise CourseError(f"{here} lacks `{field}`: {do}")
    return fields["title"], fields["minutes"], tuple(map(str, fields["needs"]))


def _examine(cell: Cell, name: str) -> None:
    for tag in cell.tags:
        if tag not in PLAIN_TAGS and not EXERCISE_TAG.fullmatch(tag):
            known = ", ".join([*PLAIN_TAGS, "exercise:ROOM.NAME"])
            raise CourseError(f"{name}, line {cell.line}: unknown tag {tag!r}. Known: {known}.")
    if cell.type == "markdown":
        for number, text in enumerate(cell.text.split("\n"), start=cell.line + 1):
            if text.strip() in MARKERS or f"# {text.strip()}" in MARKERS:
                raise CourseError(f"{name}, line {number}: a solution in a markdown cell.")
        return
    for twin, lines in zip(TWINS, _twins(cell.text, name, cell.line), strict=True):
        text = "\n".join(line or "" for line in lines)  # an empty line for one of the other twin
        if re.search(r"^\s*[%!]", text, re.MULTILINE):
            continue  # a magic: IPython's grammar, not Python's
        try:
            ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # or NUL, or depth
            line = cell.line + (getattr(error, "lineno", None) or 1)
            here = f"{name}, line {line}: the {twin}'s form of this cell is not Python"
            raise CourseError(f"{here}: {getattr(error, 'msg', error)}.") from error


def _examine_setup(cells: list[Cell], name: str) -> None:
    code = [cell for cell in cells if cell.type == "code"]
    setups = [cell for cell in cells if "setup" in cell.tags]
    alone = setups == code[:1] and setups and setups[0].tags == ("setup",)
    if not alone or re.search(r"^[^#\s]", setups[0].text, re.MULTILINE):
        line = next((cell.line for cell in (*setups[-1:], *code, *cells)), 1)
        what = '`# %% tags=["setup"]` with one comment in it; labkit build writes its code'
        raise CourseError(f"{name}, line {line}: the first code cell, and no other, is {what}.")


def split_solution(text: str, name: str = "cell", line: int = 0) -> tuple[str, str]:
    """The learner's and the solution's text of a cell; `line` is that of its `# %%` marker."""
    learner, solution = (
        "\n".join(one for one in lines if one is not None) for lines in _twins(text, name, line)
    )
    return learner, solution


def _twins(text: str, name: str, line: int) -> tuple[list[str | None], list[str | None]]:
    """The same, line by line; None for a line that the twin does not show."""
    learner, solution = [], []
    block, opened, indent = "", 0, ""  # the marker of the block we are in, its line, its indent
    for number, raw in enumerate(text.split("\n"), start=line + 1):
        here, marker, mine, its = f"{name}, line {number}", raw.strip(), None, None
        if marker == END:
            if block != BEGIN:
                raise CourseError(f"{here}: `{END}` without `{BEGIN}`.")
            block = ""
        elif marker in MARKERS:
            if block and (block, marker) != (STUB, BEGIN):
                raise CourseError(f"{here}: `{marker}` inside the block opened on line {opened}.")
            block, opened, indent = marker, number, raw[: raw.index("#")]
        elif block == STUB:
            mine = _stub_line(raw, indent, here)
        else:
            mine, its = None if block else raw, raw
        learner.append(mine)
        solution.append(its)
    if block:
        missing = BEGIN if block == STUB else END
        raise CourseError(f"{name}, line {opened}: `{block}` without `{missing}` after it.")
    return learner, solution


def _stub_line(raw: str, indent: str, here: str) -> str:
    if raw.strip() and not raw.startswith(f"{indent}#"):
        raise CourseError(f"{here}: a stub line is a comment below its `{STUB}`: {raw.strip()!r}.")
    text = re.sub("^# ?", "", raw[len(indent) :])
    return indent + text if text.strip() else ""
