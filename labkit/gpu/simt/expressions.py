"""Expressions of a kernel: names, attributes, operators, conditions."""

import ast
import builtins
import sys
from collections.abc import Callable
from functools import partial
from types import ModuleType

import numpy as np
from numba import types
from numba.core.errors import NumbaNotImplementedError
from numba.np.numpy_support import from_dtype

from labkit.gpu.simt.api import IN_KERNELS
from labkit.gpu.simt.arithmetic import OPERATORS, number
from labkit.gpu.simt.values import Cuda, Object, Value, View
from labkit.gpu.simt.views import Views

_COSTLY = ast.Subscript, ast.Call, ast.Div, ast.FloorDiv, ast.Mod  # not done for other lanes


def _is_costly(*nodes: ast.AST) -> bool:
    return any(
        isinstance(n, _COSTLY) and getattr(getattr(n, "value", None), "attr", "") != "shape"
        for node in nodes
        for n in ast.walk(node)
    )


class Expressions(Views):
    def compile_Constant(self, node: ast.Constant) -> object:
        return number(node.value) or Object(node.value)

    def compile_Name(self, node: ast.Name) -> object:
        webs, function = self.scope.source.webs, self.scope.function
        if node.id in webs.names:
            if (web := webs.seen(node)) is None:
                self.refuse(f"`{node.id}` is read before anything is assigned to it.")
            return self.read((self.scope, web))
        outer = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for space in (outer, function.__globals__, vars(builtins)):
            if node.id in space:
                thing = space[node.id]
                try:
                    return self.capture(thing.cell_contents if space is outer else thing, node.id)
                except ValueError:  # an empty cell
                    break
        cure = "check its spelling, or define it above"
        if node.id in IN_KERNELS.split():
            cure = f"write cuda.{node.id}"
        self.refuse(f"the name `{node.id}` is not defined: {cure}.")

    def capture(self, thing: object, name: str) -> object:
        """A Python object from outside the kernel; numbers and arrays stay as they are now."""
        if (value := number(thing)) is not None:
            return value
        if isinstance(thing, tuple):
            return tuple(self.capture(item, name) for item in thing)
        if isinstance(thing, np.ndarray):
            if id(thing) not in self.sites:
                try:
                    kind = from_dtype(thing.dtype)
                except NumbaNotImplementedError:
                    self.refuse(f"the array `{name}` holds {thing.dtype}, which Numba refuses.")
                spec = {"name": name, "value": thing.copy()}  # as it is now
                self.sites[id(thing)] = self.declare("constant", kind, thing.ndim, **spec)
            return self.sites[id(thing)]
        if isinstance(thing, ModuleType):
            if thing.__name__.endswith("cuda.libdevice"):
                return Cuda("libdevice")
            return Cuda() if thing.__name__.endswith(("cuda", "simt.api")) else Object(thing)
        if type(thing).__name__ == "InKernel":
            return Cuda(thing.path)
        numba_cuda = vars(sys.modules.get("numba.cuda", builtins))
        known = (alias for alias in IN_KERNELS.split() if thing is numba_cuda.get(alias, _COSTLY))
        return next(map(Cuda, known), None) or Object(thing)

    def compile_Attribute(self, node: ast.Attribute) -> object:
        owner, name = self.compile(node.value), node.attr
        if isinstance(owner, Cuda):
            return self._intrinsic(f"{owner}.{name}".lstrip("."))
        if isinstance(owner, View):
            return self.property_of(owner, name)
        if isinstance(owner, Value) and name in ("real", "imag"):
            return self.part(owner, name)
        if isinstance(owner, Value) and name == "conjugate":
            return Object(partial(self.conjugate, owner))
        if isinstance(owner, Object) and hasattr(owner.value, name):
            return self.capture(getattr(owner.value, name), name)
        cure = "check the spelling"
        if name in ("shape", "size", "ndim"):
            cure = "it is a number here; has an array's name been used again?"
        self.refuse(f"{self.describe(owner)} has no .{name}: {cure}.")

    def _intrinsic(self, path: str) -> object:
        register, _, axis = path.partition(".")
        places = "threadIdx", "blockIdx", "blockDim", "gridDim"
        if path == "laneid" or (register in places and axis in tuple("xyz")):
            return self.special(path, types.int32)
        return Value(types.int32, constant=32) if path == "warpsize" else Cuda(path)

    def part(self, value: Value, name: str) -> Value:
        """value.real or value.imag"""
        if isinstance(value.type, types.Complex):
            return self.op(name.upper(), value.type.underlying_float, value, of=value.type)
        return value if name == "real" else Value(value.type, constant=0)

    def conjugate(self, x: Value) -> Value:
        if not isinstance(x.type, types.Complex):
            return x
        imag = self.operate(ast.USub, self.part(x, "imag"))
        return self.op("COMPLEX", x.type, self.part(x, "real"), imag)

    def compile_BinOp(self, node: ast.BinOp) -> Value:
        if type(node.op) not in OPERATORS:
            self.refuse("kernels have no matrix product: write the loops.")
        return self.operate(type(node.op), self.compile(node.left), self.compile(node.right))

    def compile_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return self.invert(self.truth(value))
        return self.operate(type(node.op), value)

    def compile_Compare(self, node: ast.Compare) -> Value:
        return self._compare(node, self.compile(node.left), 0)

    def _compare(self, node: ast.Compare, left: object, i: int) -> Value:
        """a < b < c is `a < b and b < c` with b computed once."""
        operator, right = node.ops[i], self.compile(node.comparators[i])
        if isinstance(operator, ast.Is | ast.IsNot) and Object(None) in (left, right):
            result = number((left == right) == isinstance(operator, ast.Is))
        elif type(operator) not in OPERATORS:
            self.refuse("`is` and `in` are about objects, which kernels lack: use == or !=.")
        else:
            result = self.operate(type(operator), left, right)
        if i + 1 == len(node.ops):
            return result
        costly = _is_costly(*node.comparators[i + 1 :])
        return self._both(result, partial(self._compare, node, right, i + 1), costly, (node, i))

    def compile_BoolOp(self, node: ast.BoolOp, i: int = 0) -> Value:
        """a and b: b if a else a; a or b: a if a else b."""
        value, others = self.compile(node.values[i]), node.values[i + 1 :]
        if not others:
            return value
        rest, both = partial(self.compile_BoolOp, node, i + 1), isinstance(node.op, ast.And)
        return self._both(value, rest, _is_costly(*others), (node, i), both)

    def _both(self, value: Value, other: Callable, costly: bool, key: tuple, both=True) -> Value:
        """`value and other()`, or with both=False `value or other()`"""
        self.numbers(value)
        if value.constant is not None:
            return other() if bool(value.constant) == both else value
        if costly:
            key = self.scope, *key
            self.assign(key, value)
            sides = (lambda: self.assign(key, other()), bool)
            self.choose(self.truth(self.read(key)), *(sides if both else sides[::-1]))
            return self.read(key)
        test, result = self.truth(value), other()
        if isinstance(result, Value) and value.type == result.type == types.boolean:
            return self.op("AND" if both else "OR", types.boolean, value, result)
        return self.choice(test, *((result, value) if both else (value, result)))

    def compile_IfExp(self, node: ast.IfExp) -> object:
        test, key = self.truth(self.compile(node.test)), (self.scope, node)
        if test.constant is not None:
            return self.compile(node.body if test.constant else node.orelse)
        if not _is_costly(node.body, node.orelse):
            return self.choice(test, self.compile(node.body), self.compile(node.orelse))
        sides = (node.body, node.orelse)
        self.choose(test, *(partial(self._assign_side, key, side) for side in sides))
        return self.read(key)

    def _assign_side(self, key: tuple, node: ast.expr) -> None:
        self.assign(key, self.compile(node))

    def compile_Tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self.compile(item) for item in node.elts)
