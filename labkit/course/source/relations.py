"""What a sentence says of two numbers of a cell, as an expression that the build evaluates.

    # The ring sends fewer messages than the tree.
    # <!-- holds: ring.messages < tree.messages -->

The line is taken out of what the learner sees. The build evaluates it in each twin's kernel, when
the nearest code cell above has run, for later cells may give its names other values; that of a
headline, which stands above all code, when the last cell has run. It refuses a lesson in which an
expression is false or raises, and notes the others with their cell.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from labkit.course import CourseError

COMMENT = re.compile(r"\s*<!--")
HOLDS = re.compile(r"\s*<!-- holds: (?P<expression>\S.*?) -->\s*")


class Relation(NamedTuple):
    """An expression that holds where it stands."""

    expression: str
    here: str  # file and line in the source

    def holds_in(self, namespace: dict[str, Any]) -> bool:
        """Whether it is true of the names that a lesson's cells left behind."""
        return bool(eval(self.expression, namespace))


def taken_out(text: str, name: str, line: int) -> tuple[str, tuple[Relation, ...]]:
    """A Markdown text without its relations, and these; `line` is that of its `# %%` marker.

    Raises CourseError with file and line of one that says nothing of a cell.
    """
    kept: list[str] = []
    found = []
    for number, written in enumerate(text.split("\n"), start=line + 1):
        if not COMMENT.match(written):
            kept.append(written)
            continue
        here = f"{name}, line {number}"
        holds = HOLDS.fullmatch(written)
        if holds is None:
            do = "a comment in Markdown is `<!-- holds: an expression -->`, on a line of its own"
            raise CourseError(f"{here}: {written.strip()!r} cannot be read: {do}.")
        if not kept or not kept[-1].strip():
            raise CourseError(f"{here}: no sentence stands directly above this expression.")
        _refuse_idle(holds["expression"], here)
        found.append(Relation(holds["expression"], here))
    return "\n".join(kept), tuple(found)


def _refuse_idle(expression: str, here: str) -> None:
    """CourseError for what is no expression, or compares nothing that a cell has."""
    try:
        nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    except (SyntaxError, ValueError) as error:
        raise CourseError(f"{here}: `{expression}` is no Python expression: {error}.") from error
    compares = any(isinstance(node, ast.Compare) for node in nodes)
    if not compares or not any(isinstance(node, ast.Name) for node in nodes):
        must = "it must compare numbers, and name one of a cell"
        raise CourseError(f"{here}: `{expression}` says nothing of a cell: {must}.")


async def refuse_false(kernel: Any, relations: Sequence[Relation], twin: str, seconds: int) -> None:
    """CourseError for the first relation that is false, or raises, in the kernel of a notebook.

    kernel  a client of jupyter_client; its execution count stays as it is
    twin    the notebook's name
    """
    asked = {str(place): f"bool({one.expression})" for place, one in enumerate(relations)}
    question = kernel.execute("", silent=True, user_expressions=asked)
    reply = await kernel.get_shell_msg(timeout=seconds)
    while reply["parent_header"].get("msg_id") != question:
        reply = await kernel.get_shell_msg(timeout=seconds)
    for place, one in enumerate(relations):
        answer = reply["content"]["user_expressions"][str(place)]
        if answer["status"] != "ok":
            what = f"raises {answer['ename']}: {answer['evalue']}"
        elif answer["data"]["text/plain"] != "True":
            what = "is false: the sentence above it says more than its cells"
        else:
            continue
        raise CourseError(f"{one.here}: in {twin}, `{one.expression}` {what}.")
