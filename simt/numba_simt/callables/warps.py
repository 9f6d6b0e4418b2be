"""What the lanes of a warp do together: votes, shuffles, matches, 16-byte accesses, matrices."""

from numba import types

from numba_simt.callables.intrinsics import Intrinsics
from numba_simt.ops import MAX_DIMENSIONS, MT, RT
from numba_simt.reading.typing_rules import number
from numba_simt.values import Object, Value, View, register_type

_SHUFFLED = (types.int32, types.int64, types.float32, types.float64)
_MATRICES = (4, 2, 4)  # numbers of a, b and c that each lane holds in mma_m16n8k16
_OF_MATRICES = (types.uint32, types.uint32, types.float32)
_VECTORS = {  # what accesses 16 bytes at once -> the type of its four elements
    "load_float32x4": types.float32,
    "load_uint32x4": types.uint32,
    "store_float32x4": types.float32,
    "store_uint32x4": types.uint32,
}


class Warps(Intrinsics):
    """Compiles warp operations; masks of lanes are int64 in the machine, int32 in Numba."""

    def cuda_syncwarp(self, mask: Value | None = None) -> Object:
        """cuda.syncwarp(), cuda.syncwarp(mask)"""
        lanes = self._mask(mask) if mask else number(0xFFFFFFFF)
        self.emit("SYNCWARP", None, lanes)
        return Object(None)

    def _mask(self, mask: Value) -> Value:
        """The lanes that a warp operation names, int64."""
        whole = isinstance(mask, Value) and isinstance(mask.type, types.Integer)
        if not whole or mask.type.bitwidth < 32:
            self.refuse(
                f"a mask of lanes has 32 or 64 bits, not {self.describe(mask)}: use uint32()."
            )
        return self.convert(mask, types.int64)

    def _lanes(self, mask: Value) -> Value:
        """A mask of lanes as Numba has it: int32."""
        return self.op("NARROW", types.int32, mask, MT["i32"])

    def lanes(self, op: str) -> Value:
        """cuda.activemask(), cuda.lanemask_lt()"""
        return self.op(op, types.uint32, vector=True)

    def shuffle(self, op: str, mask: Value, value: Value, lane: Value) -> Value:
        """cuda.shfl_sync(mask, value, lane) and the like"""
        self.numbers(value)
        if value.type not in _SHUFFLED:
            self.refuse(
                f"Numba shuffles int32, int64, float32 and float64, no {value.type}: convert."
            )
        if isinstance(lane, Value) and getattr(lane.type, "bitwidth", 32) < 32:
            self.refuse(
                f"the lane of a shuffle is an int32, not {self.describe(lane)}: convert it."
            )
        operands = (self._mask(mask), value, self.integer(lane))
        return self.op(op, value.type, *operands, vector=True)

    def vote(self, op: str, mask: Value, predicate: Value) -> Value:
        """cuda.all_sync(mask, predicate) and the like; a ballot is a mask of lanes"""
        self.numbers(predicate)
        if not isinstance(predicate.type, types.Integer | types.Boolean):
            self.refuse(
                f"the lanes vote with integers or bools, not with {predicate.type}: compare."
            )
        vote = self.op(
            op,
            types.boolean,
            self._mask(mask),
            self.truth(predicate),
            vector=True,
        )
        return self._lanes(vote) if op == "VOTE_BALLOT" else vote

    def cuda_match_any_sync(self, mask: Value, value: Value) -> Value:
        """The lanes that have the same value, int32."""
        value = self._matched("match_any_sync", mask, value)
        lanes = self._mask(mask)
        found = self.op("MATCH_ANY", types.int64, lanes, value, of=value.type, vector=True)
        return self._lanes(found)

    def cuda_match_all_sync(self, mask: Value, value: Value) -> tuple[Value, Value]:
        """The lanes if all have the same value, else 0, int32; and whether they have, bool."""
        value = self._matched("match_all_sync", mask, value)
        register = self.temporary(register_type(types.boolean), scalar=False)
        same = Value(types.boolean, register)
        operands = (self._mask(mask), value, same)
        found = self.op("MATCH_ALL", types.int64, *operands, of=value.type, vector=True)
        return self._lanes(found), same

    def _matched(self, name: str, mask: Value, value: Value) -> Value:
        """The number in the type in which Numba compares it: 32 or 64 bits."""
        self.numbers(mask, value)
        _, kinds, _ = self.chosen(f"cuda.{name}", (mask, value))
        return self.convert(value, kinds[1])

    def vector_access(self, name: str, view: View, index: object, *values: Value) -> object:
        """load_float32x4(array, index), store_uint32x4(array, (row, column), x, y, z, w)"""
        kind = _VECTORS[name]
        self._check_vector(name, view, kind)
        place = self._element(view, index)
        if place.axes or len(place.fixed) > MAX_DIMENSIONS:
            self.refuse(
                f"{name} takes an index for each axis of the array, of at most {MAX_DIMENSIONS}."
            )
        stores = name.startswith("store")
        if len(values) != (4 if stores else 0):
            self.refuse(f"{name} takes an array, an index, and 4 numbers if it stores.")
        if stores:
            self.writable(view)
            row = self._row(values, kind)
            self.emit("STV", view.array, row, *place.fixed, type=register_type(kind))
            return Object(None)
        four = self._neighbours(4)
        self.emit("LDV", four[0], view.array, *place.fixed, type=register_type(kind))
        return tuple(Value(kind, register) for register in four)

    def _check_vector(self, name: str, view: View, kind: object) -> None:
        """Refuses arrays in which 4 neighbours are not 16 aligned bytes."""
        fits = isinstance(view, View) and view.axes and view.dtype == kind and self.in_rows(view)
        if not fits:
            self.refuse(
                f"{name} needs a C-contiguous array of {kind}: {self.describe(view)} is not."
            )
        spec = self.arrays[view.array]
        if spec.space in ("shared", "dynamic") and spec.alignment < 16:
            self.refuse(f"{name} reads 16 bytes at once: make the array with alignment=16.")

    def matrix_product(self, a: tuple, b: tuple, c: tuple) -> tuple:
        """mma_m16n8k16(a, b, c): four uint32, two uint32 and four float32 of each lane"""
        first = []
        for given, count, kind in zip((a, b, c), _MATRICES, _OF_MATRICES, strict=True):
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
        return [self.new_register(scalar=False) for _ in range(count)]
