"""The two texts of a code cell: what the learner sees, and the solution.

    # STUB:
    # dw = None
    # BEGIN SOLUTION
    dw = dy.T @ x
    # END SOLUTION

The learner's twin shows the stub's lines un-commented, the solution twin the solution; neither
shows the markers. A solution without a stub leaves nothing behind.
"""

import re
from typing import NamedTuple

from labkit.course import CourseError

STUB = "# STUB:"
BEGIN = "# BEGIN SOLUTION"
END = "# END SOLUTION"
MARKERS = (STUB, BEGIN, END)


class TwinLine(NamedTuple):
    """One line of a cell as each twin shows it; None where a twin does not."""

    learner: str | None
    solution: str | None


class _Block(NamedTuple):
    """The block that a marker opened."""

    marker: str
    line: int
    indent: str


def split_solution(text: str, name: str = "cell", line: int = 0) -> tuple[str, str]:
    """The learner's and the solution's text of a cell; `line` is that of its `# %%` marker.

    Raises CourseError with file and line of a marker that is out of place.
    """
    lines = twin_lines(text, name, line)
    learner = [one.learner for one in lines if one.learner is not None]
    solution = [one.solution for one in lines if one.solution is not None]
    return "\n".join(learner), "\n".join(solution)


def twin_lines(text: str, name: str, line: int) -> list[TwinLine]:
    """The same line by line, so that a line of a twin keeps its number in the source."""
    lines: list[TwinLine] = []
    block: _Block | None = None
    for number, written in enumerate(text.split("\n"), start=line + 1):
        here = f"{name}, line {number}"
        if written.strip() in MARKERS:
            block = _after_marker(written, number, block, here)
            lines.append(TwinLine(None, None))
        elif block is None:
            lines.append(TwinLine(written, written))
        elif block.marker == STUB:
            lines.append(TwinLine(_stub_line(written, block.indent, here), None))
        else:
            lines.append(TwinLine(None, written))
    if block is not None:
        missing = BEGIN if block.marker == STUB else END
        raise CourseError(
            f"{name}, line {block.line}: `{block.marker}` without `{missing}` after it."
        )
    return lines


def _after_marker(written: str, number: int, block: _Block | None, here: str) -> _Block | None:
    """The block that is open after a line with a marker; `block` was open before it."""
    marker = written.strip()
    if marker == END:
        if block is None or block.marker != BEGIN:
            raise CourseError(f"{here}: `{END}` without `{BEGIN}`.")
        return None
    ends_the_stub = block is not None and block.marker == STUB and marker == BEGIN
    if block is not None and not ends_the_stub:
        raise CourseError(f"{here}: `{marker}` inside the block opened on line {block.line}.")
    return _Block(marker, number, indent=written[: written.index("#")])


def _stub_line(written: str, indent: str, here: str) -> str:
    """A line of a stub, un-commented."""
    if written.strip() and not written.startswith(f"{indent}#"):
        what = f"a stub line is a comment below its `{STUB}`"
        raise CourseError(f"{here}: {what}: {written.strip()!r}.")
    text = re.sub("^# ?", "", written[len(indent) :])
    return indent + text if text.strip() else ""
