"""Answers made from the lessons' solutions: a copy of one, or a copy with one place edited.

The solutions are those that `labkit build` takes out of the lessons' sources. A copy is compiled
outside of labkit, as a learner's function is: `check` refuses the course's own kernels. Where the
solution is a text, the SystemVerilog of a module, so are its copies.
"""

import ast
import linecache
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from labkit.course.catalogue import Course
from labkit.course.config import config
from labkit.course.source.lesson import Lesson

COURSE = Path(__file__).resolve().parents[2]


class Module(str):
    """An answer that is the text of a SystemVerilog module; named, as a function is."""

    def __new__(cls, text: str, name: str) -> "Module":
        """The text under a name of its own."""
        made = super().__new__(cls, text)
        made.__name__ = name
        return made


class Source(NamedTuple):
    """The text of a module of solutions around the one function that solves an exercise."""

    before: str
    function: str  # with its decorator; or what a variable holds that is a text
    after: str  # without the table SOLUTIONS
    name: str  # of the function or variable
    is_text: bool = False


@cache
def lessons() -> list[Lesson]:
    """All lessons of the course, read once for all tests that only look at them."""
    return Course(config()).lessons()


@cache
def sources() -> dict[str, Source]:
    """The solution of each exercise, by its id."""
    found = {}
    for path in sorted(COURSE.glob("chapters/*/source/*/solutions.py")):
        text = path.read_text(encoding="utf-8")
        *statements, table = ast.parse(text).body
        defined = {s.name: s for s in statements if isinstance(s, ast.FunctionDef)}
        held = dict(_texts(statements))
        for id, answer in zip(table.value.keys, table.value.values, strict=True):
            if answer.id in held:
                found[id.value] = Source("", held[answer.id], "", answer.id, is_text=True)
            else:
                found[id.value] = _cut_out(text, defined[answer.id], end=table.lineno - 1)
    return found


def _texts(statements: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Each variable that holds a text, with the text."""
    for statement in statements:
        match statement:
            case ast.Assign([ast.Name(id=name)], ast.Constant(value=str(text))):
                yield name, text


def _cut_out(text: str, function: ast.FunctionDef, end: int) -> Source:
    """The source with the function's lines apart, up to line number `end`."""
    lines = text.splitlines(keepends=True)
    decorators = [decorator.lineno for decorator in function.decorator_list]
    first = min([function.lineno, *decorators]) - 1
    last = function.end_lineno
    before, own, after = lines[:first], lines[first:last], lines[last:end]
    return Source("".join(before), "".join(own), "".join(after), function.name)


def solution(id: str) -> Callable | Module:
    """A new copy of the lesson's own solution."""
    source = sources()[id]
    return _compiled(id, source, source.name)


def edit(id: str, name: str, old: str, new: str, *more: tuple[str, str]) -> Callable | Module:
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


AGAIN = """
first = []


def {name}(rank, ranks, *given):
    if not first:
        first.append({solution}(rank, ranks, *given))
    return first[0]
"""
NARROW = """

def {name}(rank, ranks, *given):
    def narrow(one):
        if isinstance(one, list):
            return [narrow(part) for part in one]
        return one.float() if hasattr(one, "float") and hasattr(one, "numel") else one

    return {solution}(rank, ranks, *map(narrow, given))
"""


def first_result_again(id: str) -> Callable:
    """The solution in ranks, which gives a second call in its process what it gave to the first."""
    return _wrapped(id, "first_result_again", AGAIN)


def cast_to_float32(id: str) -> Callable:
    """The solution in ranks, which computes in float32 whatever type its tensors have."""
    return _wrapped(id, "cast_to_float32", NARROW)


def _wrapped(id: str, name: str, text: str) -> Callable:
    source = sources()[id]
    text = text.format(name=name, solution=source.name)
    return _compiled(id, source._replace(after=f"{source.after}\n{text}"), source.name, name)


def _compiled(id: str, source: Source, name: str, wanted: str | None = None) -> Callable | Module:
    """The function `name`, or another one of the text that is `wanted`."""
    if source.is_text:
        return Module(source.function, name)
    function = source.function.replace(f"def {source.name}(", f"def {name}(")
    text = source.before + function + source.after
    file = f"<{id}: {name}, {hash(text)}>"  # kernels are compiled from their source
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    namespace = {"__name__": "answers"}
    exec(compile(text, file, "exec"), namespace)
    return namespace[wanted or name]
