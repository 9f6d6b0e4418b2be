"""What kernels use of numba.cuda: positions, shared and local memory, barriers, atomics."""

import ast
import math

from numba import types
from numba.np.numpy_support import as_dtype

from numba_simt.callables.python_functions import PythonFunctions
from numba_simt.ops import ATOMICS, INSTRUCTIONS
from numba_simt.reading.typing_rules import as_type, number
from numba_simt.values import ARRAYS, Choice, Cuda, Object, Value, View

LOCAL = 512 * 1024  # bytes per thread, on every GPU of today
ATOMIC_DIMENSIONS = 4  # for whose indices an atomic has operands


class Intrinsics(PythonFunctions):
    """Compiles what one thread does with the memory and the barriers of its block."""

    def grid(self, register: str, ndim: Value) -> object:
        """cuda.grid from blockIdx, cuda.gridsize from gridDim: int64, or a tuple of them."""
        if not isinstance(ndim, Value) or ndim.constant not in (1, 2, 3):
            self.refuse("it takes the number of dimensions: 1, 2 or 3.")
        found = []
        for axis in "xyz"[: ndim.constant]:
            blocks = self.special(f"{register}.{axis}", types.int64)
            threads = self.special(f"blockDim.{axis}", types.int64)
            place = self.op("MUL", types.int64, blocks, threads)
            if register == "blockIdx":
                thread = self.special(f"threadIdx.{axis}", types.int64)
                place = self.op("ADD", types.int64, place, thread)
            found.append(place)
        return found[0] if ndim.constant == 1 else tuple(found)

    def array(
        self,
        space: str,
        site: tuple,
        shape: object,
        dtype: object,
        alignment: Value | None = None,
    ) -> View:
        """cuda.shared.array and cuda.local.array: each call site is an array of its own.

        `site`: whose it is, and the ast.Call.
        """
        _, call = site
        sizes = self._sizes(space, call, shape)
        kind = as_type(getattr(dtype, "value", None))
        if kind is None:
            self.refuse(f"{self.describe(dtype)} is no dtype for a {space} array: use float32.")
        aligned = getattr(alignment, "constant", None) or 0
        if alignment is not None and (type(aligned) is not int or aligned.bit_count() != 1):
            self.refuse("the alignment of an array is a constant power of 2, such as 16.")
        if space == "local" and math.prod(sizes) * as_dtype(kind).itemsize > LOCAL:
            self.refuse(f"a thread has at most {LOCAL:,} B of local memory.")
        if site not in self.sites:
            if sizes == (0,) and space == "shared":
                space = "dynamic"
                sizes = ()
            ndim = len(sizes) or 1
            self.sites[site] = self.declare(space, kind, ndim, shape=sizes, alignment=aligned)
        return self.sites[site]

    def _sizes(self, space: str, call: ast.Call, shape: object) -> tuple[int, ...]:
        """The shape of an array, of constant integers that nothing in the kernel computes."""
        given = shape if isinstance(shape, tuple) else (shape,)
        sizes = tuple(getattr(size, "constant", None) for size in given)
        constant = all(type(size) is int and size >= 0 for size in sizes)
        if not constant or _computes_with_names(call):
            self.refuse(
                f"the shape of a {space} array is made of constant integers, because the compiler "
                "lays it out: give numbers, or names from outside the kernel, and compute outside."
            )
        return sizes

    def cuda_const(self, name: str, array: View) -> View:
        """cuda.const.array_like: arrays from outside are constants anyway."""
        return array

    def effect(self, op: str) -> Object:
        """cuda.syncthreads(), cuda.threadfence()"""
        self.emit(op)
        return Object(None)

    def this_grid(self) -> Cuda:
        """cuda.cg.this_grid(): all threads of the launch, which .sync() brings together"""
        self.cooperative = True
        return Cuda("cg.grid_group")

    def cuda_nanosleep(self, ns: Value) -> Object:
        """Nothing: the machine has no clock."""
        self.convert(ns, types.uint32)
        return Object(None)

    def barrier(self, op: str, predicate: Value) -> Value:
        """cuda.syncthreads_count(predicate) and the like"""
        if not isinstance(predicate, Value) or not isinstance(predicate.type, types.Integer):
            self.refuse(f"Numba wants an integer, not {self.describe(predicate)}: use int32().")
        return self.op(op, types.int32, self.truth(predicate), vector=True)

    def cuda_selp(self, test: Value, a: Value, b: Value) -> Value:
        """cuda.selp(test, a, b): a if test else b"""
        self.numbers(test)
        self.chosen("cuda.selp", (a, b))
        if not isinstance(test.type, types.Boolean):
            self.refuse(f"cuda.selp asks for a bool first, not {self.describe(test)}: compare it.")
        return self.choice(test, a, b)

    def cuda_atomic(self, name: str, array: View, *rest: object) -> Value:
        """atomic.add(array, index, value), atomic.cas(array, index, old, value), ..."""
        if name == "compare_and_swap":  # of the first element
            first = (number(0),) * len(getattr(array, "axes", ()))
            rest = (first, *rest)
            name = "cas"
        operation = f"ATOMIC_{name.strip('_').upper()}"
        takes = 3 if name == "cas" else 2
        if operation not in ATOMICS:
            self.refuse(f"there is no cuda.atomic.{name}.")
        if not isinstance(array, ARRAYS) or len(rest) != takes:
            values = "an old and a new value" if takes == 3 else "a value"
            self.refuse(f"cuda.atomic.{name} takes an array, an index and {values}.")
        view = self._element(array, rest[0])
        if isinstance(view, Choice):
            key = self.own_key()
            self.each_array(
                view, lambda one: self.assign(key, self._atomic(name, operation, one, rest))
            )
            return self.read_variable(key)
        return self._atomic(name, operation, view, rest)

    def _atomic(self, name: str, operation: str, view: View, rest: tuple) -> Value:
        """The instruction; its result is what was in memory before."""
        if view.axes:
            left = "one axis has" if len(view.axes) == 1 else f"{len(view.axes)} axes have"
            self.refuse(f"an atomic changes one element, and {left} no index here.")
        if len(view.fixed) > ATOMIC_DIMENSIONS:
            self.refuse("an atomic changes an element of an array of at most 4 dimensions.")
        self._check_atomic(name, operation, view)
        value = self.convert(rest[-1], view.dtype)
        comparand = self.convert(rest[1], view.dtype) if name == "cas" else None
        operands = (view.array, value, comparand, *view.fixed)
        return self.op(operation, view.dtype, *operands, vector=True)

    def _check_atomic(self, name: str, operation: str, view: View) -> None:
        """Refuses types for which CUDA has no such atomic, and constant arrays."""
        kinds = ["uint32", "uint64"]
        if name not in ("inc", "dec"):
            kinds += ["int32", "int64"]
        if "F32" in INSTRUCTIONS[operation].types:
            kinds += ["float32", "float64"]
        if view.dtype.name not in kinds:
            self.refuse(f"CUDA has no atomic.{name} for {view.dtype}, but for {', '.join(kinds)}.")
        self.writable(view)

    def _element(self, array: View, index: object) -> View:
        """array[index], of an index or a tuple of them; Numba cuts floats to integers here."""
        cut = []
        for one in index if isinstance(index, tuple) else (index,):
            kind = getattr(one, "type", None)
            other = isinstance(kind, types.Float | types.Boolean)
            cut.append(self.convert(one, types.int64) if other else one)
        return self.select(array, cut)


def _computes_with_names(call: ast.Call) -> bool:
    """Whether a sum in the call has a name in it: array(2 * n), not array(n)."""
    sums = [part for part in ast.walk(call) if isinstance(part, ast.BinOp)]
    return any(isinstance(part, ast.Name) for one in sums for part in ast.walk(one))
