"""How a launch's arrays lie in memory: the twins of Array and Allocation in c/machine.h.

Global memory is a private copy of every allocation that an argument is a view of, so that views
alias as they do on the device; `commit` writes it back. Shared and local memory are offsets into
what each block and each lane gets.
"""

import ctypes
from math import prod

import numpy as np

from labkit.gpu.simt import ops
from labkit.gpu.simt.hazards import KernelError
from labkit.gpu.simt.values import Program

WATCHED = 4e9  # bytes; the most that a profile takes to remember who touched what
ALIGNMENT = 16  # bytes; where arrays in shared and local memory begin


def struct(name: str, **fields: object) -> type[ctypes.Structure]:
    """A ctypes structure; a field's name may hold several names, as in C: `line array`."""
    rows = [(one, kind) for names, kind in fields.items() for one in names.split("__")]
    return type(name, (ctypes.Structure,), {"_fields_": rows})


INT32, INT64, POINTER = ctypes.c_int32, ctypes.c_int64, ctypes.c_void_p
_dims = INT64 * ops.MAX_DIMENSIONS
Array = struct(
    "Array",
    base=POINTER,
    offset=INT64,
    shape__strides=_dims,
    dimensions__space__memory_type__allocation=INT32,
)
Allocation = struct("Allocation", size__shift=INT64, cells__sectors=POINTER)


class Memory:
    """Where a launch's arrays lie; keeps alive every buffer that the machine points to."""

    def __init__(self, program: Program, arguments: list, shared: int, cell_size: int):
        self.cell_size, self.copies, self.allocations, self.buffers = cell_size, {}, [], []
        self.sectors = []
        self.shared_bytes = self.local_bytes = 0
        self.arrays = (Array * max(len(program.arrays), 1))()
        dynamic = []
        for entry, spec in zip(self.arrays, program.arrays, strict=False):
            match spec.space:
                case "global":
                    self._place_global(entry, arguments[spec.argument])
                case "constant":
                    array = np.ascontiguousarray(spec.value)
                    self.buffers.append(array)
                    _fill(entry, "constant", array.shape, array.dtype, array.ctypes.data)
                case "dynamic":
                    dynamic.append((entry, spec))
                case space:
                    start = self._reserve(f"{space}_bytes", prod(spec.shape) * spec.dtype.itemsize)
                    _fill(entry, space, spec.shape, spec.dtype, start)
        start = self._reserve("shared_bytes", shared)
        for entry, spec in dynamic:
            _fill(entry, "shared", (shared // spec.dtype.itemsize,), spec.dtype, start)
        sizes = [s.dtype.itemsize for s in program.arrays if s.space in ("shared", "dynamic")]
        self.shared_shift = _shift(min(sizes, default=4))
        if cell_size:
            self._watch()

    def _reserve(self, what: str, size: int) -> int:
        start = -(-getattr(self, what) // ALIGNMENT) * ALIGNMENT
        setattr(self, what, start + size)
        return start

    def _place_global(self, entry: Array, array: np.ndarray) -> None:
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, size = _extent(owner)
        if low not in self.copies:
            original = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(low))
            self.copies[low] = original, original.copy(), len(self.allocations), owner
            self.allocations.append(Allocation(size=size, shift=_shift(array.itemsize)))
        _, copy, number, _ = self.copies[low]
        allocation = self.allocations[number]
        allocation.shift = min(allocation.shift, _shift(array.itemsize))
        offset = array.ctypes.data - low
        _fill(entry, "global", array.shape, array.dtype, copy.ctypes.data + offset, array.strides)
        entry.offset, entry.allocation = offset, number

    def _watch(self) -> None:
        need = sum((a.size >> a.shift) * self.cell_size for a in self.allocations)
        if need > WATCHED:
            raise KernelError(
                f"A profile of these arrays needs {need / 1e9:.1f} GB to remember who touched "
                f"what, and takes {WATCHED / 1e9:.0f} GB at most: profile smaller arrays."
            )
        for allocation in self.allocations:
            cells = np.zeros(((allocation.size >> allocation.shift) + 2) * self.cell_size, np.uint8)
            sectors = np.zeros(allocation.size // 32 + 2, np.uint8)
            allocation.cells, allocation.sectors = cells.ctypes.data, sectors.ctypes.data
            self.buffers.append(cells)
            self.sectors.append(sectors)

    def commit(self) -> None:
        for original, copy, _, owner in self.copies.values():
            if owner.flags.writeable:
                original[:] = copy


def _shift(itemsize: int) -> int:
    """Memory is watched in granules of 2^shift bytes: the smallest elements that share it."""
    return itemsize.bit_length() - 1


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Address of the first byte, and the number of bytes, of an array that owns its memory."""
    if not array.size:
        return array.ctypes.data, 0
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    return array.ctypes.data + low, sum(abs(r) for r in reach) + array.itemsize


def _fill(entry, space, shape, dtype, base, strides=None) -> None:
    if strides is None:
        strides = [prod(shape[d + 1 :]) * dtype.itemsize for d in range(len(shape))]
    entry.base, entry.space, entry.dimensions = base, ops.SPACES.index(space), len(shape)
    entry.memory_type = ops.MT[memory_type(dtype)]
    entry.shape[: len(shape)], entry.strides[: len(shape)] = shape, strides


def memory_type(dtype: np.dtype) -> str:
    """The machine's name of a dtype: "f32" for float32, "b1" for bool."""
    return "b1" if dtype.kind == "b" else f"{dtype.kind}{dtype.itemsize * 8}"
