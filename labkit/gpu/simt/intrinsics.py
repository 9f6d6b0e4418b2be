"""What kernels use of numba.cuda: positions, memory, barriers, warp operations, atomics."""

import ast
import math

from numba import types
from numba.np.numpy_support import as_dtype

from labkit.gpu.simt.arithmetic import as_type, number
from labkit.gpu.simt.functions import Functions
from labkit.gpu.simt.ops import MAX_DIMENSIONS, MT, OP, RT
from labkit.gpu.simt.values import Object, Value, View, register_type

LOCAL = 512 * 1024  # bytes per thread, on every GPU of today

# Families of functions: name in numba.cuda -> (the method that compiles it, its first argument)
_FAMILIES = """effect: syncthreads BARRIER, threadfence FENCE, threadfence_block FENCE_BLOCK,
    threadfence_system FENCE; lanes: activemask ACTIVEMASK, lanemask_lt LANEMASK_LT;
    barrier: syncthreads_count BARRIER_COUNT, syncthreads_and BARRIER_AND,
    syncthreads_or BARRIER_OR;
    vote: all_sync VOTE_ALL, any_sync VOTE_ANY, eq_sync VOTE_EQ, ballot_sync VOTE_BALLOT;
    shuffle: shfl_sync SHFL_IDX, shfl_up_sync SHFL_UP, shfl_down_sync SHFL_DOWN,
    shfl_xor_sync SHFL_XOR; number_function: popc popc, clz clz, ffs ffs,
    brev brev, fma fma, cbrt cbrt; grid: grid blockIdx, gridsize gridDim"""
FAMILIES = {
    name: (family.strip(), op)
    for family, members in (row.split(":") for row in _FAMILIES.split(";"))
    for name, op in map(str.split, members.split(","))
}
_ARITHMETIC = ["ADD", "SUB", "MAX", "MIN", "NANMAX", "NANMIN"]  # atomics that floats have


class Intrinsics(Functions):
    def grid(self, register: str, ndim: Value) -> object:
        """cuda.grid from blockIdx, cuda.gridsize from gridDim: int64, or a tuple of them"""
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

    def array(self, space: str, site: object, shape, dtype, alignment=None) -> View:
        """cuda.shared.array and cuda.local.array: each call site is an array of its own."""
        sizes = shape if isinstance(shape, tuple) else (shape,)
        sizes = tuple(getattr(size, "constant", None) for size in sizes)
        sums = [part for part in ast.walk(site[1]) if isinstance(part, ast.BinOp)]
        computed = any(isinstance(part, ast.Name) for one in sums for part in ast.walk(one))
        if computed or any(type(size) is not int or size < 0 for size in sizes):
            self.refuse(
                f"the shape of a {space} array is made of constant integers, because the compiler "
                "lays it out: give numbers, or names from outside the kernel, and compute outside."
            )
        if (kind := as_type(getattr(dtype, "value", None))) is None:
            self.refuse(f"{self.describe(dtype)} is no dtype for a {space} array: use float32.")
        aligned = getattr(alignment, "constant", None) or 0
        if alignment is not None and (type(aligned) is not int or aligned.bit_count() != 1):
            self.refuse("the alignment of an array is a constant power of 2, such as 16.")
        if space == "local" and math.prod(sizes) * as_dtype(kind).itemsize > LOCAL:
            self.refuse(f"a thread has at most {LOCAL:,} B of local memory.")
        if site not in self.sites:
            if sizes == (0,) and space == "shared":
                space, sizes = "dynamic", ()
            spec = {"shape": sizes, "alignment": aligned}
            self.sites[site] = self.declare(space, kind, len(sizes) or 1, **spec)
        return self.sites[site]

    def cuda_const(self, name: str, array: View) -> View:
        """cuda.const.array_like: arrays from outside are constants anyway."""
        return array

    def effect(self, op: str) -> Object:
        self.emit(op)
        return Object(None)

    def cuda_syncwarp(self, mask: Value | None = None) -> Object:
        self.emit("SYNCWARP", None, self._mask(mask) if mask else number(0xFFFFFFFF))
        return Object(None)

    def _mask(self, mask: Value) -> Value:
        """The lanes that a warp operation names."""
        whole = isinstance(mask, Value) and isinstance(mask.type, types.Integer)
        if not whole or mask.type.bitwidth < 32:
            self.refuse(
                f"a mask of lanes has 32 or 64 bits, not {self.describe(mask)}: use uint32()."
            )
        return self.convert(mask, types.int64)

    def cuda_nanosleep(self, ns: Value) -> Object:
        self.convert(ns, types.uint32)
        return Object(None)

    def barrier(self, op: str, predicate: Value) -> Value:
        if not isinstance(predicate, Value) or not isinstance(predicate.type, types.Integer):
            self.refuse(f"Numba wants an integer, not {self.describe(predicate)}: use int32().")
        return self.op(op, types.int32, self.truth(predicate), vector=True)

    def lanes(self, op: str) -> Value:
        return self.op(op, types.uint32, vector=True)

    def shuffle(self, op: str, mask: Value, value: Value, lane: Value) -> Value:
        self.numbers(value)
        if str(value.type) not in ("int32", "int64", "float32", "float64"):
            self.refuse(
                f"Numba shuffles int32, int64, float32 and float64, no {value.type}: convert."
            )
        if isinstance(lane, Value) and getattr(lane.type, "bitwidth", 32) < 32:
            self.refuse(
                f"the lane of a shuffle is an int32, not {self.describe(lane)}: convert it."
            )
        operands = self._mask(mask), value, self.integer(lane)
        return self.op(op, value.type, *operands, vector=True)

    def vote(self, op: str, mask: Value, predicate: Value) -> Value:
        self.numbers(predicate)
        if not isinstance(predicate.type, types.Integer | types.Boolean):
            self.refuse(
                f"the lanes vote with integers or bools, not with {predicate.type}: compare."
            )
        vote = self.op(op, types.boolean, self._mask(mask), self.truth(predicate), vector=True)
        return self._lanes(vote) if op == "VOTE_BALLOT" else vote

    def _lanes(self, mask: Value) -> Value:
        """A mask of lanes as Numba has it: int32"""
        return self.op("NARROW", types.int32, mask, MT["i32"])

    def cuda_match_any_sync(self, mask: Value, value: Value) -> Value:
        value = self._matched("match_any_sync", mask, value)
        operands = {"of": value.type, "vector": True}
        return self._lanes(self.op("MATCH_ANY", types.int64, self._mask(mask), value, **operands))

    def cuda_match_all_sync(self, mask: Value, value: Value) -> tuple[Value, Value]:
        value = self._matched("match_all_sync", mask, value)
        same = Value(types.boolean, self.temporary(register_type(types.boolean), False))
        operands = self._mask(mask), value, same
        found = self.op("MATCH_ALL", types.int64, *operands, of=value.type, vector=True)
        return self._lanes(found), same

    def _matched(self, name: str, mask: Value, value: Value) -> Value:
        """The number in the type in which Numba compares it: 32 or 64 bits."""
        self.numbers(mask, value)
        return self.convert(value, self.chosen(f"cuda.{name}", (mask, value))[1][1])

    def cuda_selp(self, test: Value, a: Value, b: Value) -> Value:
        self.numbers(test)
        self.chosen("cuda.selp", (a, b))
        if not isinstance(test.type, types.Boolean):
            self.refuse(f"cuda.selp asks for a bool first, not {self.describe(test)}: compare it.")
        return self.choice(test, a, b)

    def cuda_atomic(self, name: str, array: View, *rest: object) -> Value:
        """atomic.add(array, index, value), atomic.cas(array, index, old, value), ..."""
        if name == "compare_and_swap":
            name, rest = "cas", ((number(0),) * len(getattr(array, "axes", ())), *rest)
        operation = f"ATOMIC_{name.strip('_').upper()}"
        if operation not in OP or len(rest) != 2 + (name == "cas") or not isinstance(array, View):
            self.refuse(f"cuda.atomic.{name} does not exist, or takes other arguments.")
        index, *comparand, value = rest
        view = self.select(array, list(index) if isinstance(index, tuple) else [index])
        if view.axes or len(view.fixed) > 4:
            self.refuse("an atomic changes one element of an array of at most 4 dimensions.")
        kinds = "uint32 uint64".split() + "int32 int64".split() * (name not in ("inc", "dec"))
        kinds += "float32 float64".split() * (operation[7:] in _ARITHMETIC)
        if view.dtype.name not in kinds:
            self.refuse(f"CUDA has no atomic.{name} for {view.dtype}, but for {', '.join(kinds)}.")
        self.writable(view)
        values = [v and self.convert(v, view.dtype) for v in (value, *(comparand or [None]))]
        return self.op(operation, view.dtype, view.array, *values, *view.fixed, vector=True)

    def vector_access(self, name: str, view: View, index: object, *values: Value) -> object:
        """load_float32x4(array, index), store_uint32x4(array, (row, column), x, y, z, w)"""
        kind, store = getattr(types, name.split("_")[1][:-2]), name.startswith("store")
        fits = isinstance(view, View) and view.axes and view.dtype == kind and self.in_rows(view)
        if not fits:
            self.refuse(
                f"{name} needs a C-contiguous array of {kind}: {self.describe(view)} is not."
            )
        spec = self.arrays[view.array]
        if spec.space in ("shared", "dynamic") and spec.alignment < 16:
            self.refuse(f"{name} reads 16 bytes at once: make the array with alignment=16.")
        chosen = self.select(view, list(index) if isinstance(index, tuple) else [index])
        if chosen.axes or len(chosen.fixed) > MAX_DIMENSIONS:
            self.refuse(
                f"{name} takes an index for each axis of the array, of at most {MAX_DIMENSIONS}."
            )
        if len(values) != 4 * store:
            self.refuse(f"{name} takes an array, an index, and 4 numbers if it stores.")
        place = chosen.fixed
        if not store:
            four = self._neighbours(4)
            self.emit("LDV", four[0], view.array, *place, type=register_type(kind))
            return tuple(Value(kind, register) for register in four)
        self.writable(view)
        self.emit("STV", view.array, self._row(values, kind), *place, type=register_type(kind))
        return Object(None)

    def matrix_product(self, a: tuple, b: tuple, c: tuple) -> tuple:
        """mma_m16n8k16(a, b, c): four uint32, two uint32 and four float32 of each lane"""
        first, kinds = [], (types.uint32, types.uint32, types.float32)
        for given, count, kind in zip((a, b, c), (4, 2, 4), kinds, strict=True):
            if not isinstance(given, tuple) or len(given) != count:
                self.refuse(f"mma_m16n8k16 takes tuples of 4, 2 and 4, not {self.describe(given)}.")
            first.append(self._row(given, kind))
        result = self._neighbours(4)
        self.emit("MMA", result[0], *first, type=RT["F16"])
        return tuple(Value(types.float32, register) for register in result)

    def _row(self, values: tuple, kind: object) -> int:
        """Copies the numbers into neighbours; the first of these registers."""
        registers = self._neighbours(len(values))
        for register, value in zip(registers, values, strict=True):
            self.emit("COPY", register, self.convert(value, kind), type=register_type(kind))
        return registers[0]

    def _neighbours(self, count: int) -> list[int]:
        """Vector registers side by side, for instructions that name the first one only."""
        return [self.new_register(False) for _ in range(count)]
