"""Calls in a kernel: device functions, which are inlined, casts, and all that comes with a name."""

import ast
import inspect
from collections.abc import Callable, Hashable, Sequence
from difflib import get_close_matches
from functools import cache, partial

import numpy as np
from numba import types

from labkit.gpu.simt import source
from labkit.gpu.simt.api import IN_KERNELS
from labkit.gpu.simt.arithmetic import FUNCTIONS, as_type
from labkit.gpu.simt.emitter import Scope
from labkit.gpu.simt.intrinsics import FAMILIES, Intrinsics
from labkit.gpu.simt.overloads import Misfit, best
from labkit.gpu.simt.values import Cuda, Object, Value, is_number

_BUILTINS = {f: (f"python_{f.__name__}",) for f in (abs, pow, round, len, complex, divmod)}
_BUILTINS |= {min: ("extreme", min), max: ("extreme", max)}
_BUILTINS |= {int: ("python_cast", int), float: ("python_cast", float)}
_VECTORS = "load_float32x4", "store_float32x4", "load_uint32x4", "store_uint32x4"
_CURES = {"print": "write the value into an array and look at it after the launch"}
_CURES |= dict.fromkeys(("zeros", "empty", "ones"), "use cuda.shared.array or cuda.local.array")
_CURES |= {"where": "use `a if condition else b`", "sum": "add in a loop"}
_signature = cache(inspect.signature)


def _handler(called: object, name: str) -> tuple | None:
    """The method that compiles a call of this function, and its first arguments."""
    if isinstance(called, Hashable) and called in FUNCTIONS:
        return "operator_function", called
    if isinstance(called, Hashable) and called in _BUILTINS:
        return _BUILTINS[called]
    if name == "mma_m16n8k16":
        return ("matrix_product",)
    if name in _VECTORS:
        return "vector_access", name
    if isinstance(called, np.ufunc) or getattr(called, "__module__", "") in ("math", "cmath"):
        return "mathematical", called
    return None


class Calls(Intrinsics):
    def compile_Call(self, node: ast.Call) -> object:
        function = self.compile(node.func)
        if any(k.arg is None for k in node.keywords):
            self.refuse("kernels cannot call with **: write the arguments one by one.")
        arguments = [self.compile(argument) for argument in node.args]
        named = {k.arg: self.compile(k.value) for k in node.keywords}
        called = function.value if isinstance(function, Object) else None
        name = getattr(called, "__name__", "")
        self.calling = node
        if isinstance(function, Cuda):
            return self._cuda(node, function, arguments, named)
        if hasattr(called, "py_func"):
            return self._device_function(node, called, arguments, named)
        if inspect.isfunction(called) and self.scope.hidden:
            return self._inline(node, called, arguments, named)
        if isinstance(called, partial):
            return called()
        if found := _handler(called, name):
            handler, *first = found
            return self._apply(name, handler, [*first, *arguments], named)
        if (kind := as_type(called)) is not None and len(arguments) == 1:
            cast = isinstance(kind, types.Boolean)
            return self.truth(arguments[0]) if cast else self.convert(arguments[0], kind)
        if inspect.isfunction(called):
            self.refuse(
                f"`{name}` is a function of the host, and a kernel can call device functions only: "
                "put @cuda.jit(device=True) above it."
            )
        cure = _CURES.get(name, "write it out with numbers, loops and arrays")
        self.refuse(f"{self.describe(function)} cannot be called in a kernel: {cure}.")

    def _device_function(
        self, node: ast.Call, called: object, arguments: list, named: dict
    ) -> object:
        """A call of a device function, with the casts that its signature asks for."""
        signatures = getattr(called, "given_signatures", ())
        if not getattr(called, "_can_compile", True):  # one of Numba's, with signatures
            if not type(called).__module__.startswith("numba.cuda"):
                self.refuse(
                    f"`{called.__name__}` was compiled for the CPU with a signature of its own, so "
                    "Numba cannot compile it for a GPU: put @cuda.jit(device=True) above it."
                )
            signatures = tuple(called.nopython_signatures)
        if not signatures:
            return self._inline(node, called.py_func, arguments, named)
        if named:
            self.refuse(f"`{called.__name__}` has a signature: give its arguments by position.")
        try:
            chosen = best(signatures, tuple(map(self.type_of, arguments)), device=True)
        except Misfit as error:
            self.refuse(f"`{called.__name__}`: {error}")
        pairs = zip(arguments, chosen.args, strict=True)
        values = [self.convert(v, k) if isinstance(v, Value) else v for v, k in pairs]
        value = self._inline(node, called.py_func, values, {})
        wanted = chosen.return_type
        if wanted is None or not isinstance(value, Value):
            return value
        if not is_number(wanted):
            self.refuse(f"`{called.__name__}` returns a number, but its signature says {wanted}.")
        return self.convert(value, wanted)

    def _cuda(self, node: ast.Call, path: Cuda, arguments: list, named: dict) -> object:
        family, _, name = path.rpartition(".")
        handler, first = f"cuda_{family or path}", [name] * bool(family)
        if path in FAMILIES:
            handler, *first = FAMILIES[path]
        elif path in ("shared.array", "local.array"):
            owner = self.scope.source if family == "shared" else self.scope  # one for all calls
            handler, first = "array", [family, (owner, node)]
        elif not hasattr(self, handler):
            near = get_close_matches(path, [*IN_KERNELS.split(), *FAMILIES], 1)
            hint = f"is it cuda.{near[0]}?" if near else "labkit/gpu/simt/README.md says what is."
            self.refuse(f"cuda.{path} is not supported in kernels here: {hint}")
        return self._apply(path, handler, [*first, *arguments], named)

    def _apply(self, name: str, handler: str, arguments: list, named: dict) -> object:
        """Calls a method of the compiler, if it takes such arguments."""
        try:
            _signature(getattr(Calls, handler)).bind(self, *arguments, **named)
        except TypeError as error:
            self.refuse(f"`{name}` takes other arguments: {error}.")
        return getattr(self, handler)(*arguments, **named)

    def _inline(
        self, node: ast.Call, function: Callable, arguments: list, named: dict, hidden=False
    ) -> object:
        """The function's body in place of the call; `return` leaves a frame that is there only if
        some lanes return before others."""
        text, caller, region, line = source.read(function), self.scope, self.region, self.line
        above = caller
        while above is not None:
            if above.function is function:
                self.refuse(f"`{text.name}` calls itself, which is not supported: write a loop.")
            above = above.parent
        new = Scope(text, function, caller, self.place_in_source(), hidden or caller.hidden)
        scope = self.facts.scopes.setdefault((caller, node), new)
        given = self._bind(scope, arguments, named)
        call = self.enter("call", scope)
        self.fresh = None  # a parameter may be read more than once
        for parameter in text.webs.parameters:
            self.parameter(scope, parameter, given[parameter.arg])
        self.scope, self.region = scope, call.region
        ended = self.body(text.tree.body)
        self.scope, self.region, self.line = caller, region, line
        value = self.read((scope, "return")) if call.returns else Object(None)
        if not ended and value != Object(None):
            self.refuse(f"`{text.name}` returns a value only sometimes: return one on every way.")
        self.leave(call)
        return value

    def inlined(self, function: Callable, values: Sequence) -> object:
        """A function of library.py in place of the call that is being compiled."""
        return self._inline(self.calling, function, [*values], {}, hidden=True)

    def parameter(self, scope: Scope, parameter: ast.arg, value: object) -> None:
        """A parameter is a variable only if something else is assigned to it."""
        webs = scope.source.webs
        key = scope, webs.written(parameter)
        if webs.definitions[key[1]] == 1:
            self.facts.bound[key] = value
        else:
            self.assign(key, value)

    def _bind(self, scope: Scope, arguments: list, named: dict) -> dict:
        """Parameter -> argument, defaults included."""
        signature, name = _signature(scope.function), scope.source.name
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values()):
            self.refuse(f"`{name}` takes *args or **kwargs: name its parameters.")
        try:
            given = signature.bind(*arguments, **named).arguments
        except TypeError as error:
            self.refuse(f"`{name}`: {error}.")
        defaults = {n: p.default for n, p in signature.parameters.items() if n not in given}
        return given | {n: self.capture(default, n) for n, default in defaults.items()}
