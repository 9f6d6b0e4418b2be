"""Expressions of a kernel: names, attributes, operators, conditions."""

import ast
import builtins
import sys
from collections.abc import Callable
from functools import partial
from types import CellType, ModuleType

import numpy as np
from numba import types

from labkit.gpu.simt.api import IN_KERNELS
from labkit.gpu.simt.arithmetic import as_type, number
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
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        if node.id in cells and cells[node.id] != CellType():
            return self.capture(cells[node.id].cell_contents, node.id)
        for space in (function.__globals__, vars(builtins)):
            if node.id in space:
                return self.capture(space[node.id], node.id)
        known = node.id in IN_KERNELS.split()
        cure = f"write cuda.{node.id}" if known else "check its spelling, or define it above"
        self.refuse(f"the name `{node.id}` is not defined: {cure}.")

    def capture(self, thing: object, name: str) -> object:
        """A Python object from outside the kernel; numbers and arrays stay as they are now."""
        if (value := number(thing)) is not None:
            return value
        if isinstance(thing, tuple):
            return tuple(self.capture(item, name) for item in thing)
        if isinstance(thing, np.ndarray):
            return self._constant_array(thing, name)
        if type(thing).__name__ == "InKernel":
            return Cuda(thing.path)
        if isinstance(thing, ModuleType) and thing.__name__.endswith(("cuda", "simt.api")):
            return Cuda()
        if isinstance(thing, ModuleType) and thing.__name__.endswith("cuda.libdevice"):
            return Cuda("libdevice")
        numba_cuda = vars(sys.modules.get("numba.cuda", builtins))  # `from numba.cuda import grid`
        known = (alias for alias in IN_KERNELS.split() if thing is numba_cuda.get(alias, _COSTLY))
        return next(map(Cuda, known), None) or Object(thing)

    def _constant_array(self, array: np.ndarray, name: str) -> View:
        if id(array) not in self.sites:
            if (kind := as_type(array.dtype)) is None:
                self.refuse(f"the array `{name}` holds {array.dtype}, which Numba refuses.")
            spec = {"name": name, "value": array.copy()}  # as it is now
            self.sites[id(array)] = self.declare("constant", kind, array.ndim, **spec)
        return self.sites[id(array)]

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
        self.refuse(f"{self.describe(owner)} has no .{name}: check the spelling.")

    def _intrinsic(self, path: str) -> object:
        register, _, axis = path.partition(".")
        places = "threadIdx", "blockIdx", "blockDim", "gridDim"
        if path == "laneid" or (register in places and axis in tuple("xyz")):
            return self.special(path, types.int32)
        return Value(types.int32, constant=32) if path == "warpsize" else Cuda(path)

    def part(self, value: Value, name: str) -> Value:
        """value.real or value.imag"""
        if isinstance(value.type, types.Boolean):
            self.refuse(f"a bool has no .{name} in Numba: convert it to an integer first.")
        if isinstance(value.type, types.Complex):
            return self.op(name.upper(), value.type.underlying_float, value, of=value.type)
        return value if name == "real" else Value(value.type, constant=0)

    def conjugate(self, x: Value) -> Value:
        if isinstance(x.type, types.Boolean):
            self.refuse("a bool has no .conjugate() in Numba: convert it to an integer first.")
        if not isinstance(x.type, types.Complex):
            return x
        imag = self.operate(ast.USub, self.part(x, "imag"))
        return self.op("COMPLEX", x.type, self.part(x, "real"), imag)

    def compile_BinOp(self, node: ast.BinOp) -> Value:
        return self.operate(type(node.op), self.compile(node.left), self.compile(node.right))

    def compile_UnaryOp(self, node: ast.UnaryOp) -> Value:
        value = self.compile(node.operand)
        if isinstance(node.op, ast.Not):
            return self.negation(value)
        return self.operate(type(node.op), value)

    def compile_Compare(self, node: ast.Compare) -> Value:
        return self._compare(node, self.compile(node.left), 0)

    def _compare(self, node: ast.Compare, left: object, i: int) -> Value:
        """a < b < c is `a < b and b < c` with b computed once."""
        operator, right = node.ops[i], self.compile(node.comparators[i])
        if isinstance(operator, ast.Is | ast.IsNot) and Object(None) in (left, right):
            result = number((left == right) == isinstance(operator, ast.Is))
        else:
            result = self.operate(type(operator), left, right)
        if not (others := node.comparators[i + 1 :]):
            return result
        rest = partial(self._compare, node, right, i + 1)
        return self._either((node, i), result, rest, lambda: result, others)

    def compile_BoolOp(self, node: ast.BoolOp, i: int = 0) -> object:
        """a and b: b if a else a; a or b: a if a else b."""
        value = self.compile(node.values[i])
        if not (others := node.values[i + 1 :]):
            return value
        sides = partial(self.compile_BoolOp, node, i + 1), lambda: value
        sides = sides if isinstance(node.op, ast.And) else sides[::-1]
        return self._either((node, i), value, *sides, others)

    def compile_IfExp(self, node: ast.IfExp) -> object:
        sides = node.body, node.orelse
        compilers = (partial(self.compile, side) for side in sides)
        return self._either((node,), self.compile(node.test), *compilers, sides)

    def _either(
        self, key: tuple, test: object, then: Callable, otherwise: Callable, nodes
    ) -> object:
        """`then() if test else otherwise()`; both are computed if the `nodes` in them are cheap."""
        test, key = self.truth(test), (self.scope, *key)
        if test.constant is not None:
            return then() if test.constant else otherwise()
        if not _is_costly(*nodes):
            return self.choice(test, then(), otherwise())
        self.choose(test, lambda: self.assign(key, then()), lambda: self.assign(key, otherwise()))
        return self.read(key)

    def compile_Tuple(self, node: ast.Tuple) -> tuple:
        return tuple(self.compile(item) for item in node.elts)
