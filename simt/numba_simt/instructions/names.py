"""Names and attributes in a kernel: what they mean inside, and what is taken from outside."""

import ast
import sys
from dataclasses import dataclass, replace
from enum import EnumMeta
from types import ModuleType

import numpy as np
from numba import types

from numba_simt.in_kernel import IN_KERNELS, TYPES, InKernel
from numba_simt.instructions.emitter import Scope
from numba_simt.instructions.subscripts import Subscripts
from numba_simt.reading.pruning import outside
from numba_simt.reading.typing_rules import as_type, number
from numba_simt.values import ARRAYS, Closure, Cuda, Object, Value, Vector, View, rebuilt

_MODULES = {"numba.cuda.libdevice": "libdevice", "numba.cuda.cg": "cg"}
_PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_REGISTERS = {"laneid"} | {f"{place}.{axis}" for place in _PLACES for axis in "xyz"}


@dataclass(frozen=True)
class Conjugate:
    """x.conjugate, which its call computes."""

    value: Value


class Names(Subscripts):
    """Looks names up as Python does: the kernel's variables, its closure, its module, builtins."""

    def compile_Name(self, node: ast.Name) -> object:
        """A variable, or a Python object from outside."""
        if node.id in self.scope.source.webs.names:
            return self._read(self.scope, node, node)
        scope, name = self.scope, node.id
        while scope.closure:  # as the function sees it that it is defined in, where it is called
            scope, read = scope.closure.scope, scope.closure.read
            if name in scope.source.webs.names:
                return self._read(scope, (read, name), read)
        return self._from_outside(name)

    def _read(self, scope: Scope, read: ast.Name | tuple, at: ast.AST) -> object:
        """The variable's value; a function remembers where it was read, and by whom."""
        value = self.read_name(scope, read)
        if isinstance(value, Closure) and value.scope is scope and value.read is None:
            return replace(value, read=at)
        return value

    def _from_outside(self, name: str) -> object:
        try:
            found = outside(self.scope.function, name)
        except KeyError:
            known = name in IN_KERNELS
            cure = f"write cuda.{name}" if known else "check its spelling, or define it above"
            self.refuse(f"the name `{name}` is not defined: {cure}.")
        return self.capture(found, name)

    def capture(self, thing: object, name: str) -> object:
        """A Python object from outside the kernel; numbers and arrays stay as they are now."""
        value = number(thing)
        if value is not None:
            return value
        if isinstance(thing, Value | Object | Closure):  # a default of a function in the kernel
            return thing
        if isinstance(thing, int):
            self.refuse(f"{thing} is larger than the numbers of 64 bits that kernels have.")
        if isinstance(thing, tuple):
            return rebuilt(thing, (self.capture(item, name) for item in thing))
        if any(hasattr(type(thing), one) for one in ("copy_to_host", "memory")):
            return self._device_array(thing.memory, name)
        if isinstance(thing, np.ndarray):
            return self._constant_array(thing, name)
        path = _path_in_cuda(thing)
        return Object(thing) if path is None else Cuda(path)

    def _device_array(self, memory: np.ndarray, name: str) -> View:
        """Device memory from outside the kernel: no constant, the kernel may write it."""
        key = ("device", id(memory))
        if key not in self.sites:
            kind = as_type(memory.dtype)
            order = {"c_order": memory.flags.c_contiguous, "value": memory}
            self.sites[key] = self.declare("global", kind, memory.ndim, name=name, **order)
        return self.sites[key]

    def _constant_array(self, array: np.ndarray, name: str) -> View:
        if id(array) not in self.sites:
            kind = as_type(array.dtype)
            if kind is None:
                self.refuse(f"the array `{name}` holds {array.dtype}, which Numba refuses.")
            now = array.copy()
            view = self.declare("constant", kind, array.ndim, name=name, value=now)
            self.sites[id(array)] = view
        return self.sites[id(array)]

    def subscript(self, owner: object, items: list) -> object:
        """Color["red"] of an enumeration; all else as below."""
        if not isinstance(owner, Object) or not isinstance(owner.value, EnumMeta):
            return super().subscript(owner, items)
        name = getattr(items[0], "value", None)
        if len(items) > 1 or name not in owner.value.__members__:
            self.refuse(
                f"{self.describe(owner)} has the members {', '.join(owner.value.__members__)}."
            )
        return self.capture(owner.value[name], name)

    def _is_member(self, node: ast.expr) -> bool:
        """Whether an expression names a member of an enumeration of integers: Shape.circle."""
        if not isinstance(node, ast.Attribute | ast.Subscript):
            return False
        owner = getattr(node.value, "id", None)
        if owner is None or owner in self.scope.source.webs.names:
            return False
        found = self._from_outside(owner)
        return isinstance(found, Object) and isinstance(found.value, EnumMeta)

    def compile_Attribute(self, node: ast.Attribute) -> object:
        """cuda.threadIdx.x, x.shape, z.real, math.pi"""
        return self.attribute(node, self.certain(self.compile(node.value)), node.attr)

    def attribute(self, node: ast.Attribute, owner: object, name: str) -> object:
        """owner.name"""
        if isinstance(owner, Cuda):
            return self._of_cuda_module(f"{owner}.{name}".lstrip("."))
        if isinstance(owner, ARRAYS):
            if self.has_field(owner, name):
                return self.element(self.field(owner, name))
            return self.property_of(owner, name)
        if isinstance(owner, Value) and name in ("real", "imag"):
            return self.part(owner, name)
        if isinstance(owner, Value) and name == "conjugate":
            return Object(Conjugate(owner))
        if isinstance(owner, Value) and name == "value" and self._is_member(node.value):
            return owner
        if isinstance(owner, Vector):
            at = "xyzw".find(name)
            if len(name) == 1 and 0 <= at < len(owner.parts):
                return owner.parts[at]
        if isinstance(owner, tuple) and name in getattr(owner, "_fields", ()):
            return getattr(owner, name)
        if isinstance(owner, Object) and hasattr(owner.value, name):
            return self.capture(getattr(owner.value, name), name)
        self.refuse(f"{self.describe(owner)} has no .{name}: check the spelling.")

    def _of_cuda_module(self, path: str) -> Value | Cuda:
        """A number, or a name that is called."""
        if path in _REGISTERS:
            return self.special(path, types.int32)
        if path == "warpsize":
            return Value(types.int32, constant=32)
        if path in TYPES:
            return Object(getattr(types, path))
        return Cuda(path)


def _path_in_cuda(thing: object) -> str | None:
    """What a Python object is called in numba.cuda: "" for the module itself; None: not there.

    The object is of numba-cuda, or of the module that stands in for it on the SIMT machine.
    """
    if isinstance(thing, InKernel):
        return thing.path
    if isinstance(thing, ModuleType):
        if thing.__name__ == "numba.cuda" or "STANDS_FOR_NUMBA_CUDA" in vars(thing):
            return ""
        return _MODULES.get(thing.__name__)
    numba_cuda = sys.modules.get("numba.cuda")
    for name in IN_KERNELS if numba_cuda else ():  # after `from numba.cuda import grid`
        if vars(numba_cuda).get(name, numba_cuda) is thing:
            return name
    return None
