"""Calls in a kernel: device functions, casts, and all that comes with a name."""

import ast
import builtins
import inspect
from collections.abc import Callable, Hashable
from difflib import get_close_matches
from typing import NamedTuple

import numpy as np
from numba import types

from numba_simt.callables.array_functions import reduction
from numba_simt.callables.overloads import Overloads
from numba_simt.callables.vectors import CACHED_LOADS, CACHED_STORES, Vectors
from numba_simt.callables.warps import Warps
from numba_simt.in_kernel import IN_KERNELS, VECTORS
from numba_simt.instructions.inlining import signature_of
from numba_simt.instructions.names import Conjugate
from numba_simt.reading.extensions import ExtendedMethod, overloads_of
from numba_simt.reading.signatures import Misfit, best
from numba_simt.reading.typing_rules import OPERATOR_FUNCTIONS, as_type
from numba_simt.values import Closure, Cuda, Method, Object, Value, is_number


class Handler(NamedTuple):
    """What compiles a call: a method of the compiler, and its first arguments."""

    method: Callable
    first: tuple = ()


_BUILTINS = {
    abs: Handler(Warps.python_abs),
    pow: Handler(Warps.python_pow),
    round: Handler(Warps.python_round),
    len: Handler(Warps.python_len),
    range: Handler(Warps.span),
    enumerate: Handler(Warps.python_enumerate),
    zip: Handler(Warps.python_zip),
    sum: Handler(Warps.python_sum),
    np.ndindex: Handler(Warps.places),
    np.ndenumerate: Handler(Warps.numbered),
    complex: Handler(Warps.python_complex),
    divmod: Handler(Warps.python_divmod),
    min: Handler(Warps.extreme, (min,)),
    max: Handler(Warps.extreme, (max,)),
    int: Handler(Warps.python_cast, (int,)),
    float: Handler(Warps.python_cast, (float,)),
    print: Handler(Vectors.python_print),
}
_EXTENSIONS = {  # those of extensions/, by name: who has a GPU defines them for both machines
    "mma_m16n8k16": Handler(Warps.matrix_product),
    "load_float32x4": Handler(Warps.vector_access, ("load_float32x4",)),
    "load_uint32x4": Handler(Warps.vector_access, ("load_uint32x4",)),
    "store_float32x4": Handler(Warps.vector_access, ("store_float32x4",)),
    "store_uint32x4": Handler(Warps.vector_access, ("store_uint32x4",)),
}
_CUDA = {  # functions of numba.cuda
    "grid": Handler(Warps.grid, ("blockIdx",)),
    "gridsize": Handler(Warps.grid, ("gridDim",)),
    "syncthreads": Handler(Warps.effect, ("BARRIER",)),
    "cg.this_grid": Handler(Warps.this_grid),
    "cg.grid_group.sync": Handler(Warps.effect, ("GRIDSYNC",)),
    "threadfence": Handler(Warps.effect, ("FENCE",)),
    "threadfence_block": Handler(Warps.effect, ("FENCE_BLOCK",)),
    "threadfence_system": Handler(Warps.effect, ("FENCE",)),
    "syncthreads_count": Handler(Warps.barrier, ("BARRIER_COUNT",)),
    "syncthreads_and": Handler(Warps.barrier, ("BARRIER_AND",)),
    "syncthreads_or": Handler(Warps.barrier, ("BARRIER_OR",)),
    "syncwarp": Handler(Warps.cuda_syncwarp),
    "activemask": Handler(Warps.lanes, ("ACTIVEMASK",)),
    "lanemask_lt": Handler(Warps.lanes, ("LANEMASK_LT",)),
    "all_sync": Handler(Warps.vote, ("VOTE_ALL",)),
    "any_sync": Handler(Warps.vote, ("VOTE_ANY",)),
    "eq_sync": Handler(Warps.vote, ("VOTE_EQ",)),
    "ballot_sync": Handler(Warps.vote, ("VOTE_BALLOT",)),
    "shfl_sync": Handler(Warps.shuffle, ("SHFL_IDX",)),
    "shfl_up_sync": Handler(Warps.shuffle, ("SHFL_UP",)),
    "shfl_down_sync": Handler(Warps.shuffle, ("SHFL_DOWN",)),
    "shfl_xor_sync": Handler(Warps.shuffle, ("SHFL_XOR",)),
    "match_any_sync": Handler(Warps.cuda_match_any_sync),
    "match_all_sync": Handler(Warps.cuda_match_all_sync),
    "popc": Handler(Warps.number_function, ("popc",)),
    "clz": Handler(Warps.number_function, ("clz",)),
    "ffs": Handler(Warps.number_function, ("ffs",)),
    "brev": Handler(Warps.number_function, ("brev",)),
    "fma": Handler(Warps.number_function, ("fma",)),
    "cbrt": Handler(Warps.number_function, ("cbrt",)),
    "selp": Handler(Warps.cuda_selp),
    "nanosleep": Handler(Warps.cuda_nanosleep),
    **{name: Handler(Vectors.cached_load, (name,)) for name in CACHED_LOADS},
    **{name: Handler(Vectors.cached_store, (name,)) for name in CACHED_STORES},
    **{name: Handler(Vectors.vector, (name,)) for name in VECTORS},
}
_OF_OPTIONALS = (  # what Numba calls with a number that may be None
    *(Warps.mathematical, Warps.python_abs, Warps.python_pow, Warps.python_round, Warps.extreme),
    *(Warps.span, Warps.cuda_atomic, Warps.number_function, Warps.cuda_selp),
)
_CUDA_FAMILIES = {  # cuda.atomic.add: the method takes the name, "add", first
    "atomic": Warps.cuda_atomic,
    "libdevice": Warps.cuda_libdevice,
    "fp16": Warps.cuda_fp16,
    "const": Warps.cuda_const,
}
_TAKEN = ("nditer",)  # of NumPy, by Numba, and not here
_NO_PYTHON = {  # what Numba calls, by the class that it has for it
    "_Intrinsic": "an intrinsic, which makes machine code",
    "ExternFunction": "a function in C, or in another language",
}
_MAKE_AN_ARRAY = "use cuda.shared.array or cuda.local.array"
_CURES = {
    "zeros": _MAKE_AN_ARRAY,
    "empty": _MAKE_AN_ARRAY,
    "ones": _MAKE_AN_ARRAY,
    "where": "use `a if condition else b`",
}


def _handler(called: object, name: str) -> Handler | None:
    """What compiles a call of this Python function; None if nothing does."""
    if isinstance(called, Hashable):
        if called in OPERATOR_FUNCTIONS:
            return Handler(Warps.operator_function, (called,))
        if called in _BUILTINS:
            return _BUILTINS[called]
    if name in _EXTENSIONS:
        return _EXTENSIONS[name]
    if reduced := reduction(called):
        return Handler(Warps.reduced, (reduced,))
    if isinstance(called, np.ufunc) or getattr(called, "__module__", "") in ("math", "cmath"):
        return Handler(Warps.mathematical, (called,))
    return None


class Calls(Overloads):
    """Finds out what is called, and hands the arguments to what compiles it."""

    def compile_Call(self, node: ast.Call) -> object:
        """f(x, y, name=z)"""
        function = self.compile(node.func)
        if any(keyword.arg is None for keyword in node.keywords):
            self.refuse("kernels cannot call with **: write the arguments one by one.")
        arguments = [*self.compile_items(node.args)]
        named = {keyword.arg: self.compile(keyword.value) for keyword in node.keywords}
        self.calling = node
        if isinstance(function, Closure):
            return self.call_closure(node, function, arguments, named)
        if isinstance(function, Cuda):
            handler = self._of_cuda_module_called(node, function)
            return self._apply(function, handler, arguments, named)
        for value in (*arguments, *named.values()):
            if isinstance(value, Closure):
                self.escaping(value)
        called = function.value if isinstance(function, Object) else None
        name = getattr(called, "__name__", "")
        if hasattr(called, "py_func"):
            return self._device_function(node, called, arguments, named)
        if inspect.isfunction(called) and self.scope.hidden:
            return self.inline(node, called, arguments, named)
        if isinstance(called, Conjugate):
            return self.conjugate(called.value)
        if isinstance(called, ExtendedMethod):
            given = [called.owner, *arguments]
            return self.call_overload(node, called.overloads, called.name, given, named)
        if isinstance(called, Method):
            return self.method(called, arguments, named)
        if isinstance(called, type) and issubclass(called, tuple) and hasattr(called, "_fields"):
            return self._named_tuple(called, arguments, named)
        handler = _handler(called, name)
        if handler:
            return self._apply(name, handler, arguments, named)
        kind = as_type(called)
        if kind is not None and len(arguments) == 1:
            to_bool = isinstance(kind, types.Boolean)
            return self.truth(arguments[0]) if to_bool else self.convert(arguments[0], kind)
        if overloads := overloads_of(called):
            return self.call_overload(node, overloads, name, arguments, named)
        self._refuse_call(function, called, name)

    def _named_tuple(self, kind: type, arguments: list, named: dict) -> tuple:
        """Point(1, y=2)"""
        try:
            given = signature_of(kind).bind(*arguments, **named)
        except TypeError as error:
            self.refuse(f"`{kind.__name__}`: {error}.")
        return tuple.__new__(kind, given.args)

    def _refuse_call(self, function: object, called: object, name: str) -> None:
        taken = getattr(builtins, name, None) is called or name in _TAKEN
        refuse = self.limit if taken else self.refuse
        if inspect.isfunction(called):
            refuse(
                f"`{name}` is a function of the host, and a kernel can call device functions only: "
                "put @cuda.jit(device=True) above it."
            )
        if type(called).__name__ in _NO_PYTHON:
            self.limit(
                f"{self.describe(function)} is {_NO_PYTHON[type(called).__name__]}, and the SIMT "
                "machine runs Python alone: write it as a device function."
            )
        cure = _CURES.get(name, "write it out with numbers, loops and arrays")
        refuse(f"{self.describe(function)} cannot be called in a kernel: {cure}.")

    def _device_function(
        self, node: ast.Call, called: object, arguments: list, named: dict
    ) -> object:
        """A call of a device function, with the casts that its signature asks for."""
        signatures = self._signatures_given_to(called)
        if not signatures:
            return self.inline(node, called.py_func, arguments, named, _is_ours(called))
        if named:
            self.refuse(f"`{called.__name__}` has a signature: give its arguments by position.")
        try:
            chosen = best(signatures, tuple(map(self.type_of, arguments)), device=True)
        except Misfit as error:
            self.refuse(f"`{called.__name__}`: {error}")
        values = []
        for value, kind in zip(arguments, chosen.args, strict=True):
            values.append(self.convert(value, kind) if isinstance(value, Value) else value)
        value = self.inline(node, called.py_func, values, {}, _is_ours(called))
        wanted = chosen.return_type
        if wanted is None or not isinstance(value, Value):
            return value
        if not is_number(wanted):
            self.refuse(f"`{called.__name__}` returns a number, but its signature says {wanted}.")
        return self.convert(value, wanted)

    def _signatures_given_to(self, called: object) -> tuple:
        """The signatures of a device function: ours, or one that numba-cuda made."""
        if getattr(called, "_can_compile", True):
            return getattr(called, "given_signatures", ())
        if not type(called).__module__.startswith("numba.cuda"):
            self.refuse(
                f"`{called.__name__}` was compiled for the CPU with a signature of its own, so "
                "Numba cannot compile it for a GPU: put @cuda.jit(device=True) above it."
            )
        return tuple(called.nopython_signatures)

    def _of_cuda_module_called(self, node: ast.Call, path: Cuda) -> Handler:
        """What compiles a call of a name in numba.cuda."""
        if path in _CUDA:
            return _CUDA[path]
        if path == "shared.array":
            site = (self.scope.source, node)  # one for all calls of a device function
            return Handler(Warps.array, ("shared", site))
        if path == "local.array":
            return Handler(Warps.array, ("local", (self.scope, node)))
        family, _, name = path.rpartition(".")
        if family in _CUDA_FAMILIES:
            return Handler(_CUDA_FAMILIES[family], (name,))
        near = get_close_matches(path, IN_KERNELS, 1)
        hint = f"is it cuda.{near[0]}?" if near else "README.md of numba-simt says what is."
        self.limit(f"cuda.{path} is not supported in kernels here: {hint}")

    def _apply(self, name: str, handler: Handler, arguments: list, named: dict) -> object:
        """Calls a method of the compiler, if it takes such arguments."""
        if handler.method in _OF_OPTIONALS or handler.first == (int,):
            arguments = map(self.certain, arguments)
        given = (*handler.first, *arguments)
        try:
            signature_of(handler.method).bind(self, *given, **named)
        except TypeError as error:
            self.refuse(f"`{name}` takes other arguments: {error}.")
        return handler.method(self, *given, **named)


def _is_ours(called: object) -> bool:
    """Whether it is a function of this package, such as those of numba_simt.random."""
    return called.py_func.__module__.partition(".")[0] == __name__.partition(".")[0]
