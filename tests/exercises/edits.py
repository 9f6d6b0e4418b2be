"""Answers made from the lessons' solutions: a copy of one, or a copy with one place edited.

The solutions are those that `labkit build` takes out of the lessons' sources. A copy is compiled
outside of labkit, as a learner's function is: `check` refuses the course's own kernels.
"""

import ast
import linecache
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

COURSE = Path(__file__).resolve().parents[2]


class Source(NamedTuple):
    """The text of a module of solutions around the one function that solves an exercise."""

    before: str
    function: str  # with its decorator
    after: str  # without the table SOLUTIONS
    name: str  # of the function


@cache
def sources() -> dict[str, Source]:
    """The solution of each exercise, by its id."""
    found = {}
    for path in sorted(COURSE.glob("labkit/*/exercises/solutions/[!_]*.py")):
        text = path.read_text(encoding="utf-8")
        *statements, table = ast.parse(text).body
        defined = {s.name: s for s in statements if isinstance(s, ast.FunctionDef)}
        for id, function in zip(table.value.keys, table.value.values, strict=True):
            found[id.value] = _cut_out(text, defined[function.id], end=table.lineno - 1)
    return found


def _cut_out(text: str, function: ast.FunctionDef, end: int) -> Source:
    """The source with the function's lines apart, up to line number `end`."""
    lines = text.splitlines(keepends=True)
    decorators = [decorator.lineno for decorator in function.decorator_list]
    first = min([function.lineno, *decorators]) - 1
    last = function.end_lineno
    before, own, after = lines[:first], lines[first:last], lines[last:end]
    return Source("".join(before), "".join(own), "".join(after), function.name)


def solution(id: str) -> Callable:
    """A new copy of the lesson's own solution."""
    source = sources()[id]
    return _compiled(id, source, source.name)


def edit(id: str, name: str, old: str, new: str, *more: tuple[str, str]) -> Callable:
    """The solution under another name, with `new` where `old` stands, and so for `more` of them.

    `old` must stand exactly once in the function, or else exactly once in what the lesson defines
    for it: its constants and device functions. ValueError where it does not.
    """
    source = sources()[id]
    for was, becomes in ((old, new), *more):
        source = _replaced(id, source, was, becomes)
    return _compiled(id, source, name)


def _replaced(id: str, source: Source, old: str, new: str) -> Source:
    places = {part: getattr(source, part).count(old) for part in ("before", "function", "after")}
    if places["function"]:
        places = {"function": places["function"]}
    if sum(places.values()) != 1:
        raise ValueError(f"{id}: {old!r} stands {sum(places.values())} times in the solution.")
    (part,) = (part for part, count in places.items() if count)
    return source._replace(**{part: getattr(source, part).replace(old, new)})


def _compiled(id: str, source: Source, name: str) -> Callable:
    function = source.function.replace(f"def {source.name}(", f"def {name}(")
    text = source.before + function + source.after
    file = f"<{id}: {name}, {hash(text)}>"  # kernels are compiled from their source
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {"__name__": "answers"}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]
