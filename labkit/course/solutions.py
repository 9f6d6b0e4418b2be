"""The solutions of a lesson as a module: what its source says between the solution's markers.

A solution stands once, in the lesson's source. `labkit build` writes from it

    labkit/gpu/exercises/solutions/the_matmul_ladder.py

with each function that the lesson hands to `check`, and whatever of the lesson that function needs:
its imports, its constants, its device functions. What `check` hands on when an answer is wrong, and
what the tests try, comes from there.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from labkit.course import CourseError
from labkit.course.config import Config
from labkit.course.lesson import Lesson, split_solution

HEAD = '''\
"""The solutions of lesson {lesson}. Written by `labkit build` from

{source}

Edit that, and build again.
"""
'''


class Statement(NamedTuple):
    """One statement at the top of a cell, for one of the names that it binds."""

    place: int
    name: str
    node: ast.stmt
    text: str

    @property
    def imports(self) -> bool:
        return isinstance(self.node, ast.Import | ast.ImportFrom)


def path(lesson: Lesson, config: Config) -> Path | None:
    """Where the module lies; None for a lesson without exercises."""
    ids = lesson.named_in("check")
    if not ids:
        return None
    room = ids[0].partition(".")[0]
    folder = config.course_root() / "labkit" / room / "exercises" / "solutions"
    return folder / f"{lesson.plain_name}.py"


def page(lesson: Lesson, config: Config) -> bytes:
    """The module's text. CourseError where a checked function is not defined in the lesson."""
    source = config.relative(lesson.path)
    statements = [*_statements(lesson)]
    needed: set[Statement] = set()
    named: dict[str, str] = {}  # id -> function
    for place, id, function in _checked(lesson):
        if function in named.values():
            raise CourseError(f"{source}: two exercises check a function {function!r}: rename one.")
        named[id] = function
        _need(function, place, statements, needed)
        if function not in {statement.name for statement in needed}:
            raise CourseError(f"{source}: {id} checks {function!r}, which no cell above defines.")
    definitions = {s.place: s.text for s in needed if not s.imports}
    head = HEAD.format(lesson=lesson.name, source=source)
    imports = _imports(s.text for s in needed if s.imports)
    top = f"{head}\n{imports}" if imports else head.rstrip()
    parts = [top, *(definitions[place] for place in sorted(definitions)), _table(named)]
    return "\n\n\n".join(parts).encode()


def _cells(lesson: Lesson) -> Iterator[tuple[str, ast.Module]]:
    """The solution's text of each code cell, and its tree; cells with magics define nothing."""
    for cell in lesson.cells:
        if cell.type != "code" or "setup" in cell.tags:
            continue
        text = split_solution(cell.text)[1]
        try:
            yield text, ast.parse(text)
        except SyntaxError:
            continue


def _statements(lesson: Lesson) -> Iterator[Statement]:
    """Every definition, assignment and import at the top of a cell, once for each name."""
    place = 0
    for text, tree in _cells(lesson):
        lines = text.splitlines()
        for node in tree.body:
            place += 1
            if _calls(node, "check"):
                continue  # `f = check("gpu.f", f)`: the name goes on meaning the function above
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            said = "\n".join(lines[first - 1 : node.end_lineno])
            for name, text_of_name in _bound(node, said).items():
                yield Statement(place, name, node, text_of_name)


def _checked(lesson: Lesson) -> Iterator[tuple[int, str, str]]:
    """(place, id, name of the function) of each `check(id, function)`."""
    place = 0
    for _, tree in _cells(lesson):
        for node in tree.body:
            place += 1
            for call in _calls(node, "check"):
                id, function = call.args
                yield place, id.value, function.id


def _calls(node: ast.AST, name: str) -> list[ast.Call]:
    calls = (inner for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def _bound(node: ast.stmt, text: str) -> dict[str, str]:
    """The names that a statement binds, each with the text that binds it."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name: text}
    if isinstance(node, ast.Import):
        return {alias.asname or alias.name: f"import {ast.unparse(alias)}" for alias in node.names}
    if isinstance(node, ast.ImportFrom):
        start = f"from {node.module} import"
        return {a.asname or a.name: f"{start} {ast.unparse(a)}" for a in node.names}
    if isinstance(node, ast.Assign):
        inner = (one for target in node.targets for one in ast.walk(target))
        return {one.id: text for one in inner if isinstance(one, ast.Name)}
    return {}


def _need(name: str, before: int, statements: list[Statement], needed: set[Statement]) -> None:
    """Adds the last statement above `before` that binds the name, and what that one needs."""
    found = [s for s in statements if s.name == name and s.place < before]
    if not found or found[-1] in needed:
        return
    needed.add(found[-1])
    if found[-1].imports:
        return
    for other in _free(found[-1].node):
        _need(other, found[-1].place, statements, needed)


def _free(node: ast.stmt) -> list[str]:
    """The names that a statement reads and does not bind itself, as variable or parameter."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    read = {one.id for one in names if isinstance(one.ctx, ast.Load)}
    bound = {one.id for one in names if isinstance(one.ctx, ast.Store)}
    bound |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    return sorted(read - bound - set(dir(builtins)))


def _imports(texts: Iterable[str]) -> str:
    """Sorted, in the three groups of the standard library, other packages and labkit."""
    merged: dict[str, list[str]] = {}  # "from math" -> names
    for text in sorted(texts):
        module, _, names = text.rpartition("import ")
        merged.setdefault(module, []).append(names)
    groups: dict[int, list[str]] = {0: [], 1: [], 2: []}
    for module in sorted(merged):  # "" first: the plain imports
        lines = merged[module] if not module else [", ".join(merged[module])]
        for names in lines:
            package = (module or f"import {names}").split()[1].partition(".")[0]
            group = 0 if package in sys.stdlib_module_names else 2 if package == "labkit" else 1
            groups[group].append(f"{module}import {names}")
    return "\n\n".join("\n".join(group) for group in groups.values() if group)


def _table(named: dict[str, str]) -> str:
    rows = "".join(f'    "{id}": {function},\n' for id, function in named.items())
    return f"SOLUTIONS = {{\n{rows}}}\n"
