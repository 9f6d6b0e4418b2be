"""print() in a kernel, with the formats that Numba's CUDA target has."""

import warnings

from numba import types

from numba_simt.callables.warps import Warps
from numba_simt.program import Print
from numba_simt.values import Cuda, Object, Value, register_type

MOST = 32  # things in one print; of more, CUDA prints the format and no numbers
_PLACES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


class Printing(Warps):
    """Compiles prints: each active lane has a line of its own."""

    def python_print(self, *things: object) -> Object:
        """print("x", i, x[i]): integers, floats as %f, bools, texts, tuples and threadIdx."""
        numbers: list[Value] = []
        text = " ".join([self._format(thing, numbers) for thing in things]) + "\n"
        if len(things) > MOST:
            text = _as_cuda_would(text)
            numbers = []
        packed = "=" + "".join(map(_packed, numbers))
        registers = [self.new_register(scalar=False) for _ in numbers]  # side by side
        for register, number in zip(registers, numbers, strict=True):
            self.emit("COPY", register, number, type=register_type(number.type))
        self.emit("PRINT", registers[0] if numbers else 0, len(numbers), len(self.prints))
        self.prints.append(Print(text, packed))
        return Object(None)

    def _format(self, thing: object, numbers: list[Value]) -> str:
        """How it is written; its numbers are added to the list, in the types that are printed."""
        if isinstance(thing, Object) and isinstance(thing.value, str):
            return thing.value.replace("%", "%%")
        if isinstance(thing, Cuda) and thing in _PLACES:
            thing = tuple(self.special(f"{thing}.{axis}", types.int32) for axis in "xyz")
        if isinstance(thing, tuple):
            parts = [self._format(one, numbers) for one in thing]
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        kind = getattr(thing, "type", None)
        if isinstance(kind, types.Boolean):
            numbers.append(thing)
            return "%s"
        if isinstance(kind, types.Integer):
            numbers.append(self.convert(thing, types.int64 if kind.signed else types.uint64))
            return "%d"
        if isinstance(kind, types.Float):
            numbers.append(self.convert(thing, types.float64))
            return "%f"
        self.refuse(
            f"a kernel prints integers, floats, bools, texts that are written in it, and tuples of "
            f"them, not {self.describe(thing)}."
        )


def _as_cuda_would(text: str) -> str:
    """What a print of too many things writes: its format, in C's words, and no numbers."""
    warnings.warn(
        f"CUDA print() cannot print more than {MOST} items. The raw format string will be emitted "
        "by the kernel instead. Split the print.",
        RuntimeWarning,
        stacklevel=2,
    )
    return text.replace("%d", "%lld").replace("%", "%%")


def _packed(number: Value) -> str:
    """How the struct module calls the 8 bytes that hold it."""
    if isinstance(number.type, types.Boolean):
        return "?7x"
    return {types.int64: "q", types.uint64: "Q", types.float64: "d"}[number.type]
