"""Expressions of a kernel: operators, comparisons, conditions, tuples."""

import ast
from collections.abc import Callable, Iterator, Sequence
from enum import Enum

from numba_simt.instructions.names import Names
from numba_simt.reading.pruning import is_of_types, known_side
from numba_simt.reading.typing_rules import number
from numba_simt.values import Object, Optional, Value

_IDENTITIES = {ast.Is: True, ast.Eq: True, ast.IsNot: False, ast.NotEq: False}
# What is not done for lanes that do not need it: it is slow, or may be refused to them.
_COSTLY = (ast.Subscript, ast.Call, ast.Div, ast.FloorDiv, ast.Mod)


def _is_costly(nodes: Sequence[ast.AST]) -> bool:
    return any(_costs(part) for node in nodes for part in ast.walk(node))


def _costs(node: ast.AST) -> bool:
    if not isinstance(node, _COSTLY):
        return False
    owner = getattr(node, "value", None)
    return getattr(owner, "attr", "") != "shape"  # x.shape[0] is a register


def _are_members(left: object, right: object) -> bool:
    """Whether they are members of one enumeration; those that are integers are numbers here."""
    if not isinstance(left, Object) or not isinstance(right, Object):
        return False
    return isinstance(left.value, Enum) and type(left.value) is type(right.value)


def _are_texts(left: object, right: object) -> bool:
    """Whether both are constant texts, such as the name of a mode."""
    if not isinstance(left, Object) or not isinstance(right, Object):
        return False
    return isinstance(left.value, str) and isinstance(right.value, str)


class Expressions(Names):
    """Compiles expressions; those with conditions become branches where a side is costly."""

    def compile_Constant(self, node: ast.Constant) -> object:
        """A number; None; a text, such as the name of a dtype."""
        return self.capture(node.value, "")

    def compile_BinOp(self, node: ast.BinOp) -> Value:
        """a + b"""
        left = self.compile(node.left)
        right = self.compile(node.right)
        if isinstance(node.op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
            return (*left, *right)
        return self.operate(type(node.op), left, right)

    def compile_UnaryOp(self, node: ast.UnaryOp) -> Value:
        """-a, not a"""
        value = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negation(value)
        return self.operate(type(node.op), value)

    def compile_Compare(self, node: ast.Compare) -> Value:
        """a < b, a < b < c"""
        return self._compare(node, self.compile(node.left), 0)

    def _compare(self, node: ast.Compare, left: object, i: int) -> Value:
        """a < b < c is `a < b and b < c` with b computed once."""
        right = self.compile(node.comparators[i])
        result = self._compare_two(node.ops[i], left, right)
        others = node.comparators[i + 1 :]
        if not others:
            return result

        def rest() -> Value:
            return self._compare(node, right, i + 1)

        return self._either((node, i), result, rest, lambda: result, others, node)

    def _compare_two(self, operator: ast.cmpop, left: object, right: object) -> Value:
        with_none = Object(None) in (left, right)
        for value in (left, right) if with_none else ():
            if isinstance(value, Optional):
                return self._is_none(operator, value)
        if with_none and isinstance(operator, ast.Is):
            return number(left == right)
        if with_none and isinstance(operator, ast.IsNot):
            return number(left != right)
        if _are_texts(left, right) and type(operator) in (ast.Eq, ast.NotEq):
            same = left.value == right.value
            return number(same == isinstance(operator, ast.Eq))
        if _are_members(left, right) and type(operator) in _IDENTITIES:
            return number(_IDENTITIES[type(operator)] == (left.value is right.value))
        if isinstance(operator, ast.In | ast.NotIn) and isinstance(right, tuple):
            found = self._is_among(left, right)
            if isinstance(operator, ast.NotIn):
                return self.invert(found)
            return found
        both = isinstance(left, tuple) and isinstance(right, tuple)
        if both and isinstance(operator, ast.Eq | ast.NotEq):
            same = self._are_equal(left, right)
            if isinstance(operator, ast.NotEq):
                return self.invert(same)
            return same
        return self.operate(type(operator), left, right)

    def _is_none(self, operator: ast.cmpop, value: Optional) -> Value:
        """value is None, value is not None"""
        if not isinstance(operator, ast.Is | ast.IsNot):
            self.limit("a number that may be None is compared with None by `is` and `is not` here.")
        if isinstance(operator, ast.IsNot):
            return value.present
        return self.invert(value.present)

    def _is_among(self, value: object, items: tuple) -> Value:
        """value in (a, b)"""
        equal = []
        for item in items:
            equal.append(self._compare_two(ast.Eq(), value, item))
        return self._joined_by(ast.BitOr, equal, number(False))

    def _are_equal(self, left: tuple, right: tuple) -> Value:
        """(a, b) == (c, d)"""
        equal = [number(len(left) == len(right))]
        for one, other in zip(left, right, strict=False):
            equal.append(self._compare_two(ast.Eq(), one, other))
        return self._joined_by(ast.BitAnd, equal, number(True))

    def _joined_by(self, operator: type, truths: list[Value], start: Value) -> Value:
        """All of them, or any, by & or |."""
        for truth in truths:
            start = self.operate(operator, start, truth)
        return start

    def compile_BoolOp(self, node: ast.BoolOp, i: int = 0) -> object:
        """a and b: b if a else a; a or b: a if a else b."""
        value = self.compile(node.values[i])
        others = node.values[i + 1 :]
        if not others:
            return value

        def rest() -> object:
            return self.compile_BoolOp(node, i + 1)

        def this() -> object:
            return value

        if isinstance(node.op, ast.And):
            return self._either((node, i), value, rest, this, others, node.values[i])
        return self._either((node, i), value, this, rest, others, node.values[i])

    def compile_IfExp(self, node: ast.IfExp) -> object:
        """a if test else b"""
        test = self.compile(node.test)
        return self._either(
            (node,),
            test,
            lambda: self.compile(node.body),
            lambda: self.compile(node.orelse),
            (node.body, node.orelse),
            node.test,
        )

    def _either(
        self,
        key: tuple,
        test: object,
        then: Callable[[], object],
        otherwise: Callable[[], object],
        nodes: Sequence[ast.AST],
        tested: ast.expr,
    ) -> object:
        """`then() if test else otherwise()`; both are computed if the `nodes` in them are cheap."""
        test = self.truth(test)
        if test.constant is not None:
            taken, other = (then, otherwise) if test.constant else (otherwise, then)
            value = taken()
            scope = self.scope
            pruned = known_side(tested, scope.source, scope.function) is not None
            if pruned or is_of_types(tested):
                return value
            ruled_out = self.typed_only(other)
            if not (isinstance(value, Value) and isinstance(ruled_out, Value)):
                return value
            return self.convert(value, self.common(value, ruled_out))
        if not _is_costly(nodes):
            return self.choice(test, then(), otherwise())
        key = (self.scope, *key)
        self.choose(
            test,
            lambda: self.assign(key, then()),
            lambda: self.assign(key, otherwise()),
        )
        return self.read_variable(key)

    def compile_Tuple(self, node: ast.Tuple) -> tuple:
        """a, b, *c"""
        return tuple(self.compile_items(node.elts))

    def compile_items(self, nodes: Sequence[ast.expr]) -> Iterator[object]:
        """The values, with the items of a tuple that has a star."""
        for node in nodes:
            if not isinstance(node, ast.Starred):
                yield self.compile(node)
                continue
            value = self.compile(node.value)
            if not isinstance(value, tuple):
                self.refuse(f"a star is for tuples, not for {self.describe(value)}.")
            yield from value
