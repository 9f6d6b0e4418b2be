"""Loops over literal_unroll(tuple): a copy of the body for each item, as each has its own type.

Dense: a piece of the syntax tree is made in one expression.
"""

import ast
from copy import deepcopy
from dataclasses import replace

from numba_simt.reading.source import Source
from numba_simt.reading.webs import Webs


class Unroll(Exception):
    """A loop that must be unrolled before it can be compiled: (function, source, loop, items)."""


def is_unrolled(node: ast.expr) -> bool:
    """Whether a loop runs over literal_unroll(...)."""
    function = node.func if isinstance(node, ast.Call) else None
    name = getattr(function, "id", getattr(function, "attr", ""))
    return name == "literal_unroll" and len(node.args) == 1 and not node.keywords


def unrolled(source: Source, loop: ast.For, count: int) -> Source:
    """The source with `for x in literal_unroll(t): ...` as a branch for each of t's items.

    A number counts the rounds, so that `break` and `continue` do what they did.
    """
    place = [*ast.walk(source.tree)].index(loop)
    tree = deepcopy(source.tree)
    found = [*ast.walk(tree)][place]
    parents = [node for node in ast.walk(tree) if found in getattr(node, "body", ())]
    parents += [node for node in ast.walk(tree) if found in getattr(node, "orelse", ())]
    _Unrolling(found, count).visit(parents[0])
    return replace(source, tree=tree, webs=Webs(tree))


class _Unrolling(ast.NodeTransformer):
    """Puts the branches in place of one loop."""

    def __init__(self, loop: ast.For, count: int) -> None:
        self._loop = loop
        self._count = count

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        """for x in literal_unroll(t): ..."""
        if node is not self._loop:
            return self.generic_visit(node)
        items, turn = f"items in line {node.lineno}", f"turn in line {node.lineno}"
        given = ast.Assign([_stored(items)], node.iter.args[0])
        turns = ast.Call(_read("range"), [ast.Constant(self._count)], [])
        loop = ast.For(_stored(turn), turns, self._turns(items, turn), node.orelse)
        return [_placed(part, node) for part in (given, loop)]

    def _turns(self, items: str, turn: str) -> list[ast.stmt]:
        branches: list[ast.stmt] = [ast.Pass()]
        for i in reversed(range(self._count)):
            loop = deepcopy(self._loop)
            item = ast.Subscript(_read(items), ast.Constant(i), ast.Load())
            body = [ast.Assign([loop.target], item), *loop.body]
            test = ast.Compare(_read(turn), [ast.Eq()], [ast.Constant(i)])
            branches = body if i == self._count - 1 else [ast.If(test, body, branches)]
        return branches


def _read(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _stored(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _placed(node: ast.stmt, at: ast.stmt) -> ast.stmt:
    """The statement; what is new in it stands in the line of the loop."""
    for part in ast.walk(node):
        if "lineno" in part._attributes and not hasattr(part, "lineno"):
            ast.copy_location(part, at)
    return node
