"""What the code of a lesson defines at the top of its cells, name by name."""

import ast
import builtins
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from labkit.course.source.lesson import Lesson


class Statement(NamedTuple):
    """One statement at the top of a cell."""

    place: int  # the statements of a lesson are counted through
    node: ast.stmt
    text: str

    def calls(self, name: str) -> list[ast.Call]:
        """The calls of a function within the statement."""
        calls = [node for node in ast.walk(self.node) if isinstance(node, ast.Call)]
        return [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == name]


class Definition(NamedTuple):
    """One name that a statement binds."""

    name: str
    text: str  # the statement; of an import, the part that binds this name
    node: ast.stmt
    place: int

    @property
    def is_import(self) -> bool:
        """Whether the name is imported."""
        return isinstance(self.node, ast.Import | ast.ImportFrom)

    def free_names(self) -> list[str]:
        """The names that the statement reads and does not bind itself, as variable or parameter.

        A name that one function of the statement binds counts as bound in all of them.
        """
        names = [node for node in ast.walk(self.node) if isinstance(node, ast.Name)]
        read = {name.id for name in names if isinstance(name.ctx, ast.Load)}
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        parameters = {node.arg for node in ast.walk(self.node) if isinstance(node, ast.arg)}
        return sorted(read - bound - parameters - set(dir(builtins)))


def statements_of(lesson: Lesson) -> list[Statement]:
    """The statements at the top of all cells, with the solution in place.

    A cell with a magic is IPython's grammar, not Python's, and is left out with all it defines.
    """
    statements: list[Statement] = []
    for cell in lesson.cells:
        if cell.type != "code" or "setup" in cell.tags:
            continue
        try:
            tree = ast.parse(cell.solution)
        except SyntaxError:
            continue
        for node in tree.body:
            text = _text_of(node, cell.solution)
            statements.append(Statement(len(statements), node, text))
    return statements


def definitions_of(statements: Sequence[Statement]) -> list[Definition]:
    """What the statements bind, in order.

    `f = check("gpu.f", f)` binds nothing: the name goes on meaning the function above.
    """
    return [
        Definition(name, text, statement.node, statement.place)
        for statement in statements
        if not statement.calls("check")
        for name, text in _bound(statement)
    ]


def _text_of(node: ast.stmt, text: str) -> str:
    """The lines of a statement, its decorators among them."""
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def _bound(statement: Statement) -> Iterator[tuple[str, str]]:
    """Each name that a statement binds, with the text that binds it."""
    node = statement.node
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name, statement.text
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name, f"import {ast.unparse(alias)}"
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"from {node.module} import {ast.unparse(alias)}"
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            for name in _stored_names(target):
                yield name, statement.text


def _stored_names(target: ast.expr) -> list[str]:
    """The variables of an assignment's target: of `a, b = ...` two, of `a[i] = ...` none."""
    names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
    return [name.id for name in names if isinstance(name.ctx, ast.Store)]
