"""A submitted notebook as data: whose it is, of which lesson, its cells, guesses and free answers.

The file is read and never run. Whatever is wrong with it becomes a sentence.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from labkit.course import CourseError
from labkit.course.grading.slices import (
    Statement,
    calls_of,
    statements,
    without_magic,
)
from labkit.course.notebook import Notebook, source_of, tags_of

LARGEST = 20_000_000  # bytes of a notebook that is read
MOST_TEXT, MOST_TEXTS = 20_000, 200_000  # characters of an answer, and of all, in the report
TAG = "exercise:"  # of a cell with an exercise, before its id
LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")  # a handout leaves out what leads to files
NOT_THEIRS = (".ipynb_checkpoints", "__MACOSX", ".git")


@dataclass
class Submission:
    """One file of the folder.

    student   by the file's name, or that of its folder
    problem   why nothing of it can be graded; "" if it can be
    """

    path: Path
    place: str  # within the folder
    student: str
    sha256: str = ""
    problem: str = ""
    notebook: Notebook | None = None
    notes: list[str] = field(default_factory=list)

    @cached_property
    def cells(self) -> list[tuple[int, str]]:
        """Number and Python of each code cell but the set-up."""
        found = []
        for number, cell in enumerate(self.notebook.cells, 1):
            if cell.get("cell_type") == "code" and "setup" not in tags_of(cell):
                found.append((number, without_magic(source_of(cell))))
        return found

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of all cells that are Python; the others are noted."""
        found = []
        for number, text in self.cells:
            try:
                found += statements(number, text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                line = getattr(error, "lineno", None)
                where = f", line {line}" if line else ""
                self.notes.append(f"Cell {number}{where} is not valid Python: {_said(error)}.")
        return found

    @property
    def ids(self) -> list[str]:
        """The exercises that it calls `check` for, or whose cells it has, each once."""
        tags = [tag for cell in self.notebook.code_cells for tag in tags_of(cell)]
        tagged = [tag.removeprefix(TAG) for tag in tags if tag.startswith(TAG)]
        called = [id for one in self.statements for id in one.checks]
        return list(dict.fromkeys([*called, *tagged]))

    @property
    def variant(self) -> str:
        """The name of the data that its handout was made with; "" for the course's own."""
        return str(self.notebook.course_metadata.get("variant", ""))


def _said(error: BaseException) -> str:
    return str(getattr(error, "msg", error) or type(error).__name__)


def submissions(folder: Path) -> list[Submission]:
    """All files of a folder and of the folders in it, in the order of their names.

    CourseError where there is none.
    """
    if not folder.is_dir():
        raise CourseError(f"{folder} is no folder: name the one with the students' notebooks.")
    found = []
    for path in sorted(folder.rglob("*")):
        place = path.relative_to(folder)
        hidden = any(part.startswith(".") or part in NOT_THEIRS for part in place.parts)
        if not hidden and (path.is_symlink() or not path.is_dir()):
            found.append(read(path, place.as_posix()))
    if not found:
        raise CourseError(f"{folder} has no files: nothing is there to grade.")
    return found


def read(path: Path, place: str) -> Submission:
    """One file; what is wrong with it stands in `problem`."""
    first, _, rest = place.partition("/")
    one = Submission(path, place, first if rest else Path(place).stem)
    try:
        if path.is_symlink() or not path.is_file():
            one.problem = "This is a link, or no ordinary file: it is not followed."
        elif path.stat().st_size > LARGEST:
            one.problem = f"This has more than {LARGEST:,} bytes: it is not read."
        else:
            one.sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            one.notebook = Notebook.read(path, place)
            _ = one.statements
    except (CourseError, OSError, RecursionError) as error:
        one.problem = f"This is no notebook: {error}"
    except UnicodeDecodeError:
        one.problem = "This is no notebook: it is not a text."
    return one


# What is read from the text alone.


def guesses(one: Submission) -> dict[str, str]:
    """By the id of each prediction the last number that stands in its call, as it is written."""
    found = {}
    for call in _calls(one, "predict"):
        if len(call.args) > 1 and not _is_none(call.args[1]):
            found[call.args[0].value] = _written(call.args[1])[:100]
    return found


def letters(one: Submission) -> dict[str, str]:
    """By the id of each quiz the last answer that stands in its call."""
    found = {}
    for call in _calls(one, "quiz"):
        if len(call.args) > 1 and not _is_none(call.args[1]):
            answer = call.args[1]
            is_text = isinstance(answer, ast.Constant) and isinstance(answer.value, str)
            text = answer.value if is_text else _written(answer)
            found[call.args[0].value] = text[:20]
    return found


def named(one: Submission) -> list[str]:
    """The ids of all that it names: exercises, predictions and quizzes."""
    calls = [*_calls(one, "predict"), *_calls(one, "quiz")]
    return [*one.ids, *(call.args[0].value for call in calls)]


def _calls(one: Submission, name: str) -> Iterator[ast.Call]:
    for statement in one.statements:
        yield from calls_of(statement.node, name)


def _written(node: ast.expr) -> str:
    try:
        return ast.unparse(node)
    except (ValueError, RecursionError):  # a number of thousands of digits, or too deep
        return "(not readable)"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def free_answers(one: Submission, ours: Notebook) -> list[str]:
    """The texts that the student wrote: cells that the lesson's own notebook has not."""
    known = {_plain(source_of(cell)) for cell in ours.cells if cell["cell_type"] == "markdown"}
    found = []
    for cell in one.notebook.cells:
        text = source_of(cell).strip()
        if cell.get("cell_type") == "markdown" and text and _plain(text) not in known:
            found.append(text[:MOST_TEXT])
            if sum(map(len, found)) > MOST_TEXTS:
                return [*found[:-1], "(More than a report can show: open the notebook.)"]
    return found


def _plain(text: str) -> str:
    """A text without the targets of links, and with single blanks."""
    return " ".join(LINK.sub(r"\1", text).split())


def lesson_of(ids: list[str], index: Mapping[str, list[str]]) -> str:
    """The lesson that most of the ids are of, as the index names it; "" if it is none."""
    counts = {name: len(set(ids) & set(own)) for name, own in index.items()}
    best = max(counts, key=lambda name: counts[name], default="")
    return best if best and counts[best] else ""


def digest(value: object) -> str:
    """A short name for what was graded, and with what."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:24]
