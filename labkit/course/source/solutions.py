"""The solutions of a lesson as a module: what its source says between the solution's markers.

A solution stands once, in the lesson's source. `labkit build` writes from it

    chapters/01_gpu/source/tiles/solutions.py

with each function that the lesson hands to `check`, and whatever of the lesson that function needs:
its imports, its constants, its device functions. What `check` hands on when an answer is wrong, and
what the tests try, comes from there.
"""

import ast
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from labkit.course import CourseError, folders
from labkit.course.config import Config
from labkit.course.generated import GeneratedFile
from labkit.course.source.definitions import Definition, Statement, definitions_of, statements_of
from labkit.course.source.lesson import Lesson

# Imports as ruff sorts them: one line for each module, in three groups.

OWN = ("labkit", "labkit_lessons")


def sorted_imports(texts: Iterable[str]) -> str:
    """The lines of imports: the standard library, then other packages, then labkit.

    texts   "import a", "import a as b" or "from a import b", one name each
    """
    names_from: dict[str, set[str]] = {}
    plain: set[str] = set()
    for text in texts:
        if text.startswith("import "):
            plain.add(text)
        else:
            module, _, name = text.removeprefix("from ").partition(" import ")
            names_from.setdefault(module, set()).add(name)
    lines = sorted(plain)
    for module in sorted(names_from):
        names = ", ".join(sorted(names_from[module]))
        lines.append(f"from {module} import {names}")
    groups: list[list[str]] = [[], [], []]
    for line in lines:
        groups[_group(line)].append(line)
    return "\n\n".join("\n".join(group) for group in groups if group)


def _group(line: str) -> int:
    """The place of an import's group."""
    package = line.split()[1].partition(".")[0]
    if package in sys.stdlib_module_names:
        return 0
    return 2 if package in OWN else 1


HEAD = '''\
"""The solutions of lesson {lesson}. Written by `labkit build` from

{source}

Edit that, and build again. The code is as dense as it stands in the lesson.
"""
'''


# A package that must not be imported together with the solutions, and what stands in for it.
LATE = {"from pynq import ": "from labkit.fpga.board.pynq_package.late_pynq import "}


class CheckedFunction(NamedTuple):
    """What one `check(id, function)` of a lesson names."""

    id: str
    function: str
    place: int  # of the statement with the call


def module(lesson: Lesson, config: Config) -> GeneratedFile | None:
    """The module as it should be; None for a lesson without exercises.

    Raises CourseError where a checked function is not defined in the lesson.
    """
    source = config.relative(lesson.path)
    statements = statements_of(lesson)
    checked = _checked(statements, source)
    if not checked:
        return None
    path = folders.parts(lesson.path).solutions
    head = HEAD.format(lesson=lesson.name, source=source)
    return GeneratedFile(path, _text(head, statements, checked, source).encode())


def _text(
    head: str, statements: Sequence[Statement], checked: Sequence[CheckedFunction], source: str
) -> str:
    """The text of the module."""
    definitions = definitions_of(statements)
    needed: dict[tuple[int, str], Definition] = {}  # by place and name
    for call in checked:
        _add_with_needs(call.function, call.place, definitions, needed)
        if call.function not in {definition.name for definition in needed.values()}:
            what = f"{call.id} checks {call.function!r}, which no cell above defines"
            raise CourseError(f"{source}: {what}.")
    imports = [_late(definition.text) for definition in needed.values() if definition.is_import]
    # One text for all the names that a statement binds.
    texts = {d.place: d.text for d in needed.values() if not d.is_import}
    top = f"{head}\n{sorted_imports(imports)}" if imports else head.rstrip()
    parts = [top, *(texts[place] for place in sorted(texts)), _table(checked)]
    return "\n\n\n".join(parts)


def _checked(statements: Sequence[Statement], source: str) -> list[CheckedFunction]:
    """Every `check(id, function)`; CourseError where two share a function's name."""
    found: list[CheckedFunction] = []
    for statement in statements:
        for call in statement.calls("check"):
            checked = _arguments(call, statement.place, source)
            if any(one.function == checked.function for one in found):
                what = f"two exercises check a function {checked.function!r}"
                raise CourseError(f"{source}: {what}: rename one.")
            found.append(checked)
    return found


def _arguments(call: ast.Call, place: int, source: str) -> CheckedFunction:
    """What a call of `check` names; CourseError where it is not an id and a function's name."""
    match call.args:
        case [ast.Constant(value=str(id)), ast.Name(id=function)]:
            return CheckedFunction(id, function, place)
    must = 'it must name an id and a function, as in check("gpu.relu", relu)'
    raise CourseError(f"{source}: `{ast.unparse(call)}` cannot be read: {must}.")


def _add_with_needs(
    name: str,
    before: int,
    definitions: Sequence[Definition],
    needed: dict[tuple[int, str], Definition],
) -> None:
    """Add the last definition of a name above the place `before`, and what that one needs."""
    above = [one for one in definitions if one.name == name and one.place < before]
    if not above:
        return  # a name of Python's own, or one that the learner is given
    last = above[-1]
    if (last.place, name) in needed:
        return
    needed[last.place, name] = last
    for other in last.free_names():
        _add_with_needs(other, last.place, definitions, needed)


def _late(text: str) -> str:
    """An import as the solutions have it."""
    for early, late in LATE.items():
        if text.startswith(early):
            return text.replace(early, late)
    return text


def _table(checked: Sequence[CheckedFunction]) -> str:
    """The end of the module: id -> function."""
    rows = "".join(f'    "{one.id}": {one.function},\n' for one in checked)
    return f"SOLUTIONS = {{\n{rows}}}\n"
