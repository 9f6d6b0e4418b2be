"""Assignments of a kernel: to variables, to elements of arrays, to several of them at once."""

import ast
from dataclasses import replace

from numba_simt.callables.calls import Calls
from numba_simt.reading.typing_rules import OPERATORS, number
from numba_simt.values import (
    ARRAYS,
    Choice,
    Closure,
    View,
)


class Assignments(Calls):
    """Compiles what writes variables and arrays."""

    def compile_Assign(self, node: ast.Assign) -> None:
        """x = y, x[i] = y, a, b = b, a"""
        value = self.compile(node.value)
        if len(node.targets) > 1:  # a = b = c: a must not take over the register
            self.fresh = None
        for target in node.targets:
            self.assign_to(target, value)

    def compile_AnnAssign(self, node: ast.AnnAssign) -> None:
        """x: int = y"""
        if node.value is not None:
            self.assign_to(node.target, self.compile(node.value))

    def compile_AugAssign(self, node: ast.AugAssign) -> None:
        """x += y, x[i] += y"""
        operator = type(node.op)
        if isinstance(node.target, ast.Subscript | ast.Attribute):
            view = self.target(node.target)  # once, for reading and writing
            if view.axes:
                symbol = OPERATORS[operator].symbol
                self.refuse(f"Numba has no {symbol}= for arrays here: loop over the elements.")
            before = self.load(view)
            self.store(view, self.operate(operator, before, self.compile(node.value)))
        else:
            before = self.compile(node.target)
            value = self.operate(operator, before, self.compile(node.value))
            self.assign_to(node.target, value)

    def assign_to(
        self,
        target: ast.expr,
        value: object,
    ) -> None:
        """The value into what a statement names: a variable, an element, or several of them."""
        match target:
            case ast.Name():
                if isinstance(value, View) and not self.arrays[value.array].name:
                    self.arrays[value.array].name = target.id
                if isinstance(value, Closure) and value.read is value.tree:
                    value = replace(value, read=None)  # it sees what is there when it is called
                self.assign_name(self.scope, target, value)
            case ast.Subscript() | ast.Attribute():
                self.write(self.target(target), value)
            case ast.Tuple() | ast.List():
                self._assign_several(target.elts, value)
            case _:
                self.refuse("only names and elements of arrays can be assigned to.")

    def _assign_several(
        self,
        targets: list[ast.expr],
        value: object,
    ) -> None:
        if isinstance(value, ARRAYS) and value.axes:
            value = self._unpacked(value, len(targets))
        if not isinstance(value, tuple) or len(value) != len(targets):
            self.refuse(f"{len(targets)} names cannot be filled from {self.describe(value)}.")
        held = [self.hold(item) for item in value]  # for a, b = b, a
        for target, item in zip(targets, held, strict=True):
            self.assign_to(target, item)

    def _unpacked(
        self,
        array: View | Choice,
        count: int,
    ) -> tuple:
        """The items of an array that must have so many, as in a, b = x."""
        length = self.length(array, array.axes[0])
        differ = self.operate(ast.NotEq, length, number(count))
        self.throw_if(differ, ValueError, "unpacking failed")
        return tuple(self.item(array, [number(i)]) for i in range(count))
