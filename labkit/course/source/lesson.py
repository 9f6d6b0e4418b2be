"""A lesson as its author writes it: one source that carries the learner's text and the solution.

Reading a source examines it: what is malformed is named with its line before anything is built.
"""

import ast
import hashlib
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.course import CourseError
from labkit.course.source import percent
from labkit.course.source.relations import Relation, taken_out
from labkit.course.source.stubs import MARKERS, TwinLine, twin_lines

TWINS = ("learner", "solution")
PLAIN_TAGS = ("nbval-ignore-output", "picture", "setup", "timing")
EXERCISE_TAG = re.compile(r"exercise:[a-z0-9_]+\.[a-z0-9_]+")
HEADER_FIELDS = {"title": str, "minutes": int, "needs": list, "able": str, "runs_on": str}
ROW_FIELDS = re.compile(r"^# +(?:able|runs_on): .*\n", re.MULTILINE)  # no notebook has them
SOURCE = "lesson.py"  # in the folder that has the lesson's name; its number is in the header
NUMBER = re.compile(r"\bnumber: *(\d+)")


@dataclass(frozen=True)
class LessonCell:
    """One cell, with the text that each twin shows: in Markdown, all but its relations."""

    type: str  # "code" or "markdown"
    tags: tuple[str, ...]
    line: int  # of its `# %%` marker; the text starts one below
    text: str  # as written: a code cell may hold both twins' lines
    learner: str
    solution: str
    relations: tuple[Relation, ...] = ()  # of the sentences in a Markdown cell

    def shown_in(self, twin: str) -> str:
        """The text of one of the TWINS."""
        return self.learner if twin == "learner" else self.solution


@dataclass(frozen=True)
class Lesson:
    """A source that was read and found well-formed."""

    path: Path  # chapters/<chapter>/source/<name>/lesson.py
    stem: str  # number and name, as its notebooks are called: "6_tiles"
    title: str
    minutes: int
    needs: tuple[str, ...]
    able: str  # what its learner will be able to do, as the page of the chapter says
    runs_on: str  # as the table in README.md says
    cells: tuple[LessonCell, ...]
    sha256: str  # of the source's text, the same whatever its line ends and its rows in tables

    @property
    def chapter(self) -> Path:
        """The folder of the lesson's chapter."""
        return chapter_of(self.path)

    @property
    def name(self) -> str:
        """Chapter and lesson: `01_gpu/1_gradients`."""
        return f"{self.chapter.name}/{self.stem}"

    @property
    def number(self) -> int:
        """Its place in the chapter."""
        return int(self.stem.partition("_")[0])

    @property
    def plain_name(self) -> str:
        """The lesson without chapter and number, as all its files are called."""
        return self.path.parent.name

    def named_in(self, call: str) -> tuple[str, ...]:
        """The ids that its code gives to check, predict or quiz, each once; x.predict is none."""
        code = "\n".join(cell.text for cell in self.cells if cell.type == "code")
        ids = re.findall(rf"(?<![\w.]){call}\(\s*[\"']([\w.]+)[\"']", code)
        return tuple(dict.fromkeys(ids))

    def relations(self) -> dict[int, tuple[Relation, ...]]:
        """What must hold when a code cell has run, by the cell's place.

        Those are the relations below it, up to the next one; those above all code, of a headline,
        must hold when the last one has run.
        """
        code = [place for place, cell in enumerate(self.cells) if cell.type == "code"]
        found: dict[int, tuple[Relation, ...]] = {}
        for place, cell in enumerate(self.cells):
            if cell.relations:
                above = [one for one in code if one < place]
                after = above[-1] if above else code[-1]
                found[after] = found.get(after, ()) + cell.relations
        return found

    def notebook(self, twin: str) -> Path:
        """Where the twin lies: beside `source/` for the learner, in `solutions/` the other."""
        folder = self.chapter if twin == "learner" else self.chapter / "solutions"
        return folder / f"{self.stem}.ipynb"


def chapter_of(path: Path) -> Path:
    """The folder of the chapter that a source lies in."""
    return path.parents[2]


def stem_of(path: Path) -> str:
    """Number and name of a source: `6_tiles`; `0_tiles` where its header has no number."""
    header = percent.HEADER.match(percent.plain(path.read_text("utf-8", errors="replace")))
    number = NUMBER.search(header[1]) if header else None
    return f"{number[1] if number else 0}_{path.parent.name}"


def load(path: Path, name: str) -> Lesson:
    """Read and examine a source. CourseError names file and line of whatever is malformed."""
    try:
        text = percent.plain(path.read_bytes().decode("utf-8"))
    except UnicodeDecodeError as error:
        raise CourseError(f"{name} is not UTF-8 text (byte {error.start}).") from error
    header, written = percent.read(text, name)
    fields = _fields(header, f"{name}, line 1: the header")
    cells = tuple(_examined(cell, name) for cell in written)
    _examine_setup(cells, name)
    stem = stem_of(path)
    if stem.startswith("0_"):
        do = "write `number: 3`, its place in the chapter, under `labkit:`"
        raise CourseError(f"{name}, line 1: the header lacks `number`: {do}.")
    return Lesson(
        path=path,
        stem=stem,
        title=fields["title"],
        minutes=fields["minutes"],
        needs=tuple(map(str, fields["needs"])),
        able=fields["able"],
        runs_on=fields["runs_on"],
        cells=cells,
        sha256=hashlib.sha256(ROW_FIELDS.sub("", text).encode()).hexdigest(),
    )


def _fields(header: dict, here: str) -> dict:
    """What the header says under `labkit:`."""
    jupyter = header.get("jupyter")
    spec = jupyter.get("kernelspec") if isinstance(jupyter, dict) else None
    if not isinstance(spec, dict) or spec.get("name") != "python3":
        raise CourseError(f"{here} must name the kernelspec python3 under `jupyter:`.")
    fields = header.get("labkit") or jupyter.get("labkit")
    for field, kind in HEADER_FIELDS.items():
        if not isinstance(fields, dict) or not isinstance(fields.get(field), kind):
            rest = "minutes: 40, needs: [], able: ..., runs_on: ..."
            do = f"write `labkit: {{title: ..., number: 3, {rest}}}`."
            raise CourseError(f"{here} lacks `{field}`: {do}")
    return fields


def _examined(cell: percent.Cell, name: str) -> LessonCell:
    """The cell with its twins; CourseError for an unknown tag, a marker or code out of place."""
    for tag in cell.tags:
        if tag not in PLAIN_TAGS and not EXERCISE_TAG.fullmatch(tag):
            known = ", ".join([*PLAIN_TAGS, "exercise:ROOM.NAME"])
            raise CourseError(f"{name}, line {cell.line}: unknown tag {tag!r}. Known: {known}.")
    if cell.type == "markdown":
        _refuse_markers(cell, name)
        shown, relations = taken_out(cell.text, name, cell.line)
        return LessonCell(cell.type, cell.tags, cell.line, cell.text, shown, shown, relations)
    lines = twin_lines(cell.text, name, cell.line)
    shown = {}
    for twin in TWINS:
        _parse(lines, twin, cell.line, name)
        shown[twin] = "\n".join(_lines_of(lines, twin))
    return LessonCell(cell.type, cell.tags, cell.line, cell.text, **shown)


def _lines_of(lines: Sequence[TwinLine], twin: str) -> Iterator[str]:
    """The lines that a twin shows."""
    for line in lines:
        text = getattr(line, twin)
        if text is not None:
            yield text


def _refuse_markers(cell: percent.Cell, name: str) -> None:
    """CourseError for a marker of a solution, commented once more or not, in Markdown."""
    for number, text in enumerate(cell.text.split("\n"), start=cell.line + 1):
        if text.strip() in MARKERS or f"# {text.strip()}" in MARKERS:
            raise CourseError(f"{name}, line {number}: a solution in a markdown cell.")


def _parse(lines: Sequence[TwinLine], twin: str, line: int, name: str) -> None:
    """CourseError, with the line in the source, if a twin's form of a cell is not Python."""
    text = "\n".join(getattr(one, twin) or "" for one in lines)  # the other's lines are empty here
    if re.search(r"^\s*[%!]", text, re.MULTILINE):
        return  # a magic: IPython's grammar, not Python's
    try:
        ast.parse(textwrap.dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # or NUL, or depth
        place = line + (getattr(error, "lineno", None) or 1)
        here = f"{name}, line {place}: the {twin}'s form of this cell is not Python"
        raise CourseError(f"{here}: {getattr(error, 'msg', error)}.") from error


def _examine_setup(cells: Sequence[LessonCell], name: str) -> None:
    """CourseError unless the first code cell, and no other, is a setup cell without code."""
    code = [cell for cell in cells if cell.type == "code"]
    setups = [cell for cell in cells if "setup" in cell.tags]
    alone = len(setups) == 1 and setups == code[:1] and setups[0].tags == ("setup",)
    if alone and not re.search(r"^[^#\s]", setups[0].text, re.MULTILINE):
        return
    guilty = [*setups[-1:], *code[:1], *cells[:1]]
    line = guilty[0].line if guilty else 1
    what = '`# %% tags=["setup"]` with one comment in it; labkit build writes its code'
    raise CourseError(f"{name}, line {line}: the first code cell, and no other, is {what}.")
