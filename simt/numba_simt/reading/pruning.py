"""Branches that Numba leaves out before it looks at types: their tests are of constants alone.

What an assignment in such a branch makes of a variable's type does not count; in every other branch
it does, also where the compiler can tell that no thread comes there.
"""

import ast
import builtins
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from types import CellType

from numba_simt.reading.source import Source, parse
from numba_simt.reading.typing_rules import ORDERS, number
from numba_simt.reading.webs import Webs, own_nodes


def pruned(function: Callable) -> Source:
    """The function's source without the branches that constants rule out."""
    source = parse(function)
    tests = _tests(source.tree)
    sides = tuple(known_side(test, source, function) for test in tests)
    return source if set(sides) <= {None} else _without(source, sides)


def outside(function: Callable, name: str) -> object:
    """What a name means that the function does not assign; KeyError if it is not defined."""
    cells = dict(
        zip(
            function.__code__.co_freevars,
            function.__closure__ or (),
            strict=True,
        )
    )
    if name in cells and cells[name] != CellType():  # an empty cell: not assigned yet
        return cells[name].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return vars(builtins)[name]


def known_side(test: ast.expr, source: Source, function: Callable) -> bool | None:
    """The truth of a constant, or of a comparison of two; None where Numba keeps both sides."""
    compared = isinstance(test, ast.Compare)
    if compared and (len(test.ops) > 1 or type(test.ops[0]) not in ORDERS):
        return None
    operands = (test.left, test.comparators[0]) if compared else (test,)
    values = [_constant(node, source, function) for node in operands]
    texts = compared and all(isinstance(value, str) for value in values)
    if texts and not isinstance(test.ops[0], ast.Eq | ast.NotEq):
        return None
    if not texts and any(number(value) is None for value in values):
        return None
    return bool(ORDERS[type(test.ops[0])](*values) if compared else values[0])


def is_of_types(test: ast.expr) -> bool:
    """Whether types alone answer it: is it None, x.ndim, len() of a tuple."""
    if not isinstance(test, ast.Compare):
        return False
    if any(isinstance(op, ast.Is | ast.IsNot) for op in test.ops):
        return True
    called = [node.func for node in ast.walk(test) if isinstance(node, ast.Call)]
    names = {getattr(function, "id", None) for function in called}
    return "len" in names or any(getattr(node, "attr", "") == "ndim" for node in ast.walk(test))


def _constant(node: ast.expr, source: Source, function: Callable) -> object:
    """A literal, what a name outside means, or a variable that is assigned one of them alone."""
    local = source.webs.names | source.enclosed
    if isinstance(node, ast.Name) and node.id in source.webs.names:
        node = source.webs.assigned_alone(node)
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.Name) or node.id in local:
        return None
    try:
        return outside(function, node.id)
    except KeyError:  # the compiler refuses it where it is read
        return None


@lru_cache(maxsize=256)
def _tests(tree: ast.FunctionDef) -> list[ast.expr]:
    """The conditions of a function's own branches."""
    nodes = [node for part in tree.body for node in own_nodes(part)]
    return [node.test for node in nodes if isinstance(node, ast.If)]


@lru_cache(maxsize=256)
def _without(source: Source, sides: tuple) -> Source:
    """The source with one side of each branch for which `sides` says which."""
    tree = deepcopy(source.tree)
    tests = _tests(tree)
    tree = _Pruning(dict(zip(tests, sides, strict=True))).visit(tree)
    return replace(source, tree=tree, webs=Webs(tree))


class _Pruning(ast.NodeTransformer):
    """Puts the statements of the known side in place of an `if`."""

    def __init__(self, sides: dict[ast.expr, bool | None]) -> None:
        self._sides = sides

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """if FLAG: ..."""
        self.generic_visit(node)
        side = self._sides.get(node.test)  # of a function within the kernel: none
        if side is None:
            return node
        return (node.body if side else node.orelse) or ast.copy_location(ast.Pass(), node)
