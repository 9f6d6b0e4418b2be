"""Calls in a kernel: device functions, which are inlined, casts, and all that comes with a name."""

import ast
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache, partial

import numpy as np
from numba import types

from labkit.gpu.simt import source
from labkit.gpu.simt.api import IN_KERNELS
from labkit.gpu.simt.arithmetic import as_type
from labkit.gpu.simt.emitter import Block, Construct, Label, Scope
from labkit.gpu.simt.intrinsics import FAMILIES, Intrinsics
from labkit.gpu.simt.values import Cuda, Object

_BUILTINS = {f: f"python_{f.__name__}" for f in (abs, min, max, pow, round, len, complex, divmod)}
_CURES = {"print": "write the value into an array and look at it after the launch"}
_CURES |= dict.fromkeys(("zeros", "empty", "ones"), "use cuda.shared.array or cuda.local.array")
_CURES |= {"where": "use `a if condition else b`", "sum": "add in a loop"}
_signature = cache(inspect.signature)


class Calls(Intrinsics):
    def compile_Call(self, node: ast.Call) -> object:
        function = self.compile(node.func)
        if any(k.arg is None for k in node.keywords):
            self.refuse("kernels cannot call with **: write the arguments one by one.")
        arguments = [self.compile(argument) for argument in node.args]
        named = {k.arg: self.compile(k.value) for k in node.keywords}
        called = function.value if isinstance(function, Object) else None
        name = getattr(called, "__name__", "")
        if isinstance(function, Cuda):
            return self._cuda(node, function, arguments, named)
        if hasattr(called, "py_func"):
            return self._inline(node, called.py_func, arguments, named)
        if called in _BUILTINS and (called is not complex or len(arguments) > 1):
            return self._apply(name, _BUILTINS[called], arguments, named)
        if name in ("load_float32x4", "load_float32x2", "store_float32x4", "store_float32x2"):
            return self._apply(name, "vector_access", [name, *arguments], named)
        if isinstance(called, partial):
            return called()
        if isinstance(called, np.ufunc) or getattr(called, "__module__", "") in ("math", "cmath"):
            return self.mathematical(called, arguments)
        if (kind := as_type(called)) is not None and len(arguments) == 1:
            family = {int: types.Integer, float: types.Float}.get(called, ())
            if isinstance(getattr(arguments[0], "type", None), family):
                return arguments[0]  # float(x) of a float32 stays float32 in Numba
            return self.convert(arguments[0], kind)
        if inspect.isfunction(called):
            self.refuse(
                f"`{name}` is a function of the host, and a kernel can call device functions only: "
                "put @cuda.jit(device=True) above it."
            )
        cure = _CURES.get(name, "write it out with numbers, loops and arrays")
        self.refuse(f"{self.describe(function)} cannot be called in a kernel: {cure}.")

    def _cuda(self, node: ast.Call, path: Cuda, arguments: list, named: dict) -> object:
        family, _, name = path.rpartition(".")
        if path in ("shared.array", "local.array"):
            owner = self.scope.source if family == "shared" else self.scope  # one for all calls
            return self._apply(path, "array", [family, (owner, node), *arguments], named)
        if path == "const.array_like":
            return arguments[0]
        if path in FAMILIES:
            handler, op = FAMILIES[path]
            return self._apply(path, handler, [op, *arguments], named)
        if family in ("atomic", "fp16", "libdevice"):
            return self._apply(path, f"cuda_{family}", [name, *arguments], named)
        if not hasattr(self, f"cuda_{path}"):
            near = get_close_matches(path, [*IN_KERNELS.split(), *FAMILIES], 1)
            hint = f"is it cuda.{near[0]}?" if near else "labkit/gpu/simt/README.md says what is."
            self.refuse(f"cuda.{path} is not supported in kernels here: {hint}")
        return self._apply(path, f"cuda_{path}", arguments, named)

    def _apply(self, name: str, handler: str, arguments: list, named: dict) -> object:
        """Calls a method of the compiler, if it takes such arguments."""
        try:
            _signature(getattr(Calls, handler)).bind(self, *arguments, **named)
        except TypeError as error:
            self.refuse(f"`{name}` takes other arguments: {error}.")
        return getattr(self, handler)(*arguments, **named)

    def _inline(self, node: ast.Call, function: Callable, arguments: list, named: dict) -> object:
        """The function's body in place of the call; `return` leaves a frame that is there only if
        some lanes return before others."""
        text, caller, block, line = source.read(function), self.scope, self.block, self.line
        above = caller
        while above is not None:
            if above.function is function:
                self.refuse(f"`{text.name}` calls itself, which is not supported: write a loop.")
            above = above.parent
        scope = self.facts.scopes.setdefault((caller, node), Scope(text, function, caller))
        given = self._bind(scope, arguments, named)
        framed, end = scope in self.facts.framed, Label()
        call = self.push(Construct("call", framed, end, Block(block, False), scope, end))
        if framed:
            self.emit("LOOP")
        for parameter in text.webs.parameters:
            key = scope, text.webs.written(parameter)
            value = self.shared(given[parameter.arg])
            if text.webs.definitions[key[1]] == 1:
                self.facts.bound[key] = value
            else:
                self.assign(key, value)
        self.scope, self.block = scope, call.block
        ended, result = self.body(text.tree.body), (scope, "return")
        self.scope, self.block, self.line = caller, block, line
        if call.used is not None:
            self.used = call.used  # what it returns stays in its register
        value = self.read(result) if call.value == result else call.value
        if not ended and value not in (None, Object(None)):
            self.refuse(f"`{text.name}` returns a value only sometimes: return one on every way.")
        self.stack.pop()
        if framed or call.value == result:
            self.place(end)
        if framed:
            self.emit("ENDLOOP", None, self.closing())
        return value or Object(None)

    def _bind(self, scope: Scope, arguments: list, named: dict) -> dict:
        """Parameter -> argument, defaults included."""
        signature, name = _signature(scope.function), scope.source.name
        try:
            given = dict(signature.bind(*arguments, **named).arguments)
        except TypeError as error:
            self.refuse(f"`{name}`: {error}.")
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                self.refuse(f"`{name}` takes *args or **kwargs: name its parameters.")
            if parameter.name not in given:
                given[parameter.name] = self.capture(parameter.default, parameter.name)
        return given
