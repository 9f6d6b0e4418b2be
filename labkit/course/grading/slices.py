"""Which statements of a notebook its answers need: found in the text, by the names that they use.

Pictures, tables and measurements need not run to judge an answer, and take most of a notebook's
time. So only those statements run that bind a name which an answer needs, or change what one stands
for, and the calls of `check` themselves. Nothing is run here.
"""

import ast
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAGIC = re.compile(r"^\s*[%!?]|\?\s*$")  # lines that are IPython's, not Python's


@dataclass(frozen=True)
class Statement:
    """A statement at the top level of a cell.

    binds   names that it gives a value to, or whose value it changes
    uses    names that it reads, its functions' bodies included
    checks  ids of exercises that it calls `check` for
    """

    cell: int
    line: int
    node: ast.stmt
    binds: frozenset[str]
    uses: frozenset[str]
    checks: tuple[str, ...]


def without_magic(text: str) -> str:
    """A cell's Python; lines of IPython's own become comments, and keep their place."""
    if text.lstrip().startswith("%%"):
        return ""
    lines = []
    for line in text.splitlines():
        is_magic = MAGIC.search(line) and not line.lstrip().startswith("#")
        lines.append(f"pass  # {line.strip()}" if is_magic else line)
    return "\n".join(lines) + "\n"


def statements(cell: int, text: str) -> list[Statement]:
    """The statements of a cell; SyntaxError or ValueError where it is not Python."""
    found = []
    for node in ast.parse(text).body:
        found.append(
            Statement(
                cell,
                node.lineno,
                node,
                binds=_bound(node),
                uses=_used(node),
                checks=tuple(checked_in(node)),
            )
        )
    return found


def checked_in(node: ast.AST) -> Iterator[str]:
    """The ids in calls such as `check("gpu.tiles", f)`."""
    for call in calls_of(node, "check"):
        yield call.args[0].value


def calls_of(node: ast.AST, name: str) -> Iterator[ast.Call]:
    """The calls of `name`, or of `labkit.name`, whose first argument is a text."""
    for one in ast.walk(node):
        if not isinstance(one, ast.Call) or not one.args:
            continue
        called = getattr(one.func, "id", getattr(one.func, "attr", None))
        first = one.args[0]
        if called == name and isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield one


def _bound(node: ast.stmt) -> frozenset[str]:
    """Names that a statement binds, and those whose value it changes: `a[0] = 1`, `a.append(1)`."""
    found = set()
    inside = [node]
    while inside:
        one = inside.pop()
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(one.name)
            continue
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.alias(name=name, asname=other):
                found.add(other or name.partition(".")[0])
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                found |= _root(one)
            case ast.Call(func=ast.Attribute() as method) if isinstance(node, ast.Expr):
                found |= _root(method)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found.add(name)
            case ast.Lambda() | ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                continue
        inside += ast.iter_child_nodes(one)
    return frozenset(found)


def _root(node: ast.expr) -> set[str]:
    """The name that an attribute or an element belongs to."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _used(node: ast.stmt) -> frozenset[str]:
    reads = (ast.Load, ast.Del)
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
    found = {one.id for one in names if isinstance(one.ctx, reads)}
    if isinstance(node, ast.AugAssign):
        found |= _root(node.target)
    for part in ast.walk(node):
        if isinstance(part, ast.Global):
            found.update(part.names)
    return frozenset(found)


def needed(found: list[Statement], wanted: Iterable[Statement]) -> list[Statement]:
    """The wanted statements and all that they need, in their order.

    An import is needed as any other name; that something calls a function of a module, or draws
    with it, changes no name of the notebook.
    """
    places = {id(one): place for place, one in enumerate(found)}
    binders = _binders(found)
    followed: dict[str, int] = {}  # of a name, how many of its binders are chosen
    queue = [places[id(one)] for one in wanted]
    chosen = set(queue)
    while queue:
        place = queue.pop()
        one = found[place]
        for name in one.uses | one.binds:
            before = bisect_left(binders.get(name, []), place)
            after = followed.get(name, 0)
            others = binders.get(name, [])[after:before]
            queue += set(others) - chosen
            chosen.update(others)
            followed[name] = max(before, after)
    return [found[place] for place in sorted(chosen)]


def _binders(found: list[Statement]) -> dict[str, list[int]]:
    """The places of the statements that bind each name, or change its value, in their order."""
    modules = {name for one in found if _is_import(one) for name in one.binds}
    binders: dict[str, list[int]] = {}
    for place, one in enumerate(found):
        names = one.binds - modules if isinstance(one.node, ast.Expr) else one.binds
        for name in names:
            binders.setdefault(name, []).append(place)
    return binders


def _is_import(one: Statement) -> bool:
    return isinstance(one.node, ast.Import | ast.ImportFrom)
