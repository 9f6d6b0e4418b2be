"""Planted answers as cells of a notebook: the text of each, with all that it uses."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache
from itertools import chain, zip_longest

from labkit.course.grading.slices import needed, statements
from tests.exercises.answers import FOUND, LESSONS, PLANTED


def planted() -> Iterator[tuple[str, object]]:
    """The planted answers that can be written as a cell: the first of each exercise come first."""
    by_id = [[(id, answer) for answer, _ in several] for id, several in PLANTED.items()]
    every = (one for one in chain(*zip_longest(*by_id)) if one is not None)
    return (one for one in every if cell_of(*one))


def cell_of(id: str, answer: object) -> str:
    """A cell that defines the answer and checks it; "" where its text is made by a test's tools."""
    if isinstance(answer, str):
        return f"answer = {str(answer)!r}\ncheck({id!r}, answer)\n"
    function = getattr(answer, "py_func", answer)
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    if code.co_filename.startswith("<"):
        text = "".join(linecache.cache[code.co_filename][2])
        return f"{text}\ncheck({id!r}, {function.__name__})\n"
    return _from_file(id, answer)


def _from_file(id: str, answer: object) -> str:
    for lesson, path in FOUND.items():
        names = [name for name, value in LESSONS[lesson].items() if value is answer]
        if names:
            return _cut_out(id, names[0], path.read_text("utf-8"))
    return ""


def _cut_out(id: str, name: str, text: str) -> str:
    found = _statements(text)
    wanted = [one for one in found if name in one.binds]
    parts = [_segment(text, one.node) for one in needed(found, wanted)]
    if any("tests." in part or "edit(" in part for part in parts):
        return ""
    return "\n\n".join([*parts, f"check({id!r}, {name})\n"])


def _segment(text: str, node: ast.stmt) -> str:
    """The lines of a statement, its decorators among them."""
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


@cache
def _statements(text: str) -> list:
    return statements(0, text)
