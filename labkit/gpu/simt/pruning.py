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

from labkit.gpu.simt.source import Source, parse
from labkit.gpu.simt.typing_rules import ORDERS, number
from labkit.gpu.simt.webs import Webs


def pruned(function: Callable) -> Source:
    """The function's source without the branches that constants from outside rule out."""
    source = parse(function)
    tests = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.If)]
    taken = tuple(_taken(test, source, function) for test in tests)
    return source if set(taken) <= {None} else _without(source, taken)


def outside(function: Callable, name: str) -> object:
    """What a name means that the function does not assign; KeyError if it is not defined."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if name in cells and cells[name] != CellType():  # an empty cell: not assigned yet
        return cells[name].cell_contents
    if name in function.__globals__:
        return function.__globals__[name]
    return vars(builtins)[name]


def _outside_or_none(function: Callable, name: str) -> object:
    try:
        return outside(function, name)
    except KeyError:  # the compiler refuses it where it is read
        return None


def of_constants(test: ast.expr) -> bool:
    """Whether Numba leaves a branch out if the names in its test are constants."""
    if isinstance(test, ast.Compare) and type(test.ops[0]) in ORDERS:
        return len(test.ops) == 1 and all(map(_plain, (test.left, test.comparators[0])))
    return _plain(test)


def _plain(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.Name)


def _taken(test: ast.expr, source: Source, function: Callable) -> bool | None:
    """Which side of a branch is kept; None: both."""
    if not of_constants(test):
        return None
    compared = isinstance(test, ast.Compare)
    values = []
    for node in (test.left, test.comparators[0]) if compared else (test,):
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(node, ast.Name) and node.id not in source.webs.names:
            value = _outside_or_none(function, node.id)
        if number(value) is None:
            return None
        values.append(value)
    return bool(ORDERS[type(test.ops[0])](*values) if compared else values[0])


@lru_cache(maxsize=256)
def _without(source: Source, taken: tuple) -> Source:
    """The source with one side of each branch for which `taken` says which."""
    tree = deepcopy(source.tree)
    tests = [node.test for node in ast.walk(tree) if isinstance(node, ast.If)]
    tree = _Pruning(dict(zip(tests, taken, strict=True))).visit(tree)
    return replace(source, tree=tree, webs=Webs(tree))


class _Pruning(ast.NodeTransformer):
    """Puts the statements of the side that is taken in place of an `if`."""

    def __init__(self, taken: dict[ast.expr, bool | None]) -> None:
        self._taken = taken

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """if FLAG: ..."""
        self.generic_visit(node)
        taken = self._taken[node.test]
        if taken is None:
            return node
        return (node.body if taken else node.orelse) or ast.copy_location(ast.Pass(), node)
