"""How a launch's arrays lie in memory.

Global memory is a private copy, so that a kernel that is stopped changes nothing; `commit` writes
it back. An array of the host gets a copy of its own; of device memory whole allocations are copied,
so that views of one alias as they do on the device. Shared and local memory are offsets into what
each block and each lane gets.
"""

import ctypes
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import gcd, prod

import numpy as np

from numba_simt.errors import KernelError
from numba_simt.execution.structs import Allocation, Array
from numba_simt.ops import SPACES
from numba_simt.program import ArraySpec, Program
from numba_simt.values import memory_type

WATCHED = 4e9  # bytes; the most that a profile takes to remember who touched what
ALIGNMENT = 16  # bytes; where arrays in shared and local memory begin
SECTOR = 32  # bytes


@dataclass
class _Copy:
    """A private copy of memory outside of the machine."""

    address: int  # of its first byte
    original: np.ndarray  # uint8: the memory itself
    private: np.ndarray  # uint8, as long
    number: int  # of the allocation
    writeable: bool


class Memory:
    """Where a launch's arrays lie; keeps alive every buffer that the machine points to.

    `arguments`: an array or a number for each parameter; `hosts`: which of them are arrays of the
    host. `shared`: bytes of dynamic shared memory. `cell_size`: bytes that a profile remembers for
    each granule of memory, 0 without one. `partly`: arrays for which that is too much are left out,
    and `unwatched` names them.
    """

    def __init__(
        self,
        program: Program,
        arguments: list,
        hosts: Collection[int],
        shared: int,
        cell_size: int,
        partly: bool = False,
    ) -> None:
        self.cell_size = cell_size
        self.allocations: list[Allocation] = []
        self.unwatched: tuple[str, ...] = ()
        self.sectors: list[np.ndarray] = []  # uint8, for each allocation: who touched a sector
        self.shared_bytes = 0
        self.local_bytes = 0
        self.arrays = (Array * max(len(program.arrays), 1))()
        self._host_copies: list[_Copy] = []
        self._device_copies: dict[int, _Copy] = {}  # by the address of the memory
        self._buffers: list[np.ndarray] = []
        dynamic, aliases = [], []
        for entry, spec in zip(self.arrays, program.arrays, strict=False):
            if spec.alias:
                aliases.append((entry, spec))
                continue
            match spec.space:
                case "global" if spec.argument is None:  # device memory that the kernel names
                    self._place_global(entry, spec.value, False)
                case "global":
                    of_host = spec.argument in hosts
                    self._place_global(entry, arguments[spec.argument], of_host)
                case "constant":
                    self._place_constant(entry, spec.value)
                case "shared":
                    self.shared_bytes = _place_next(entry, spec, self.shared_bytes)
                case "local":
                    self.local_bytes = _place_next(entry, spec, self.local_bytes)
                case "dynamic":
                    dynamic.append((entry, spec))
        self._place_dynamic(dynamic, shared)
        for entry, spec in aliases:
            self._place_alias(entry, spec)
        self.shared_shift = _smallest_shared(program)
        if cell_size:
            left_out = self._too_large() if partly else []
            self._watch(left_out)
            named = zip(self.arrays, program.arrays, strict=False)
            self.unwatched = tuple(
                spec.name
                for entry, spec in named
                if spec.space == "global" and entry.allocation in left_out
            )

    def _place_constant(self, entry: Array, value: np.ndarray) -> None:
        array = np.ascontiguousarray(value)
        self._buffers.append(array)
        _fill(entry, "constant", array.shape, array.dtype, array.ctypes.data)

    def _place_alias(self, entry: Array, spec: ArraySpec) -> None:
        """What another array's memory is besides: a field of its records, say."""
        other = self.arrays[spec.alias.array]
        n = other.dimensions
        entry.base = (other.base or 0) + spec.alias.offset
        entry.offset = other.offset + spec.alias.offset
        entry.space = other.space
        entry.allocation = other.allocation
        entry.memory_type = _memory_type(spec.dtype)
        shape, strides = _aliased(spec, other.shape[:n], other.strides[:n])
        entry.dimensions = len(shape)
        entry.shape[: len(shape)] = shape
        entry.strides[: len(shape)] = strides
        if SPACES[other.space] == "global":
            allocation = self.allocations[entry.allocation]
            allocation.shift = min(allocation.shift, _shift(grain(spec.dtype)))

    def _place_dynamic(self, dynamic: list[tuple[Array, ArraySpec]], shared: int) -> None:
        """All dynamic arrays of a kernel are the same memory, behind the other shared arrays."""
        start = _aligned(self.shared_bytes)
        self.shared_bytes = start + shared
        for entry, spec in dynamic:
            length = shared // spec.dtype.itemsize
            _fill(entry, "shared", (length,), spec.dtype, start)

    def _place_global(self, entry: Array, array: np.ndarray, of_host: bool) -> None:
        copy = self._copy_of_host(array) if of_host else self._copy_of_device(array)
        allocation = self.allocations[copy.number]
        allocation.shift = min(allocation.shift, _shift(grain(array.dtype)))
        whole = of_host or (array.flags.forc and not isinstance(array.base, np.ndarray))
        offset = 0 if whole else array.ctypes.data - copy.address
        base = copy.private.ctypes.data + offset
        _fill(entry, "global", array.shape, array.dtype, base, array.strides)
        entry.offset = offset
        entry.allocation = copy.number

    def _copy_of_host(self, array: np.ndarray) -> _Copy:
        """A copy of its own, also of an array that is given twice, as in Numba."""
        copy = self._copy(array, *_extent(array), grain(array.dtype))
        self._host_copies.append(copy)
        return copy

    def _copy_of_device(self, array: np.ndarray) -> _Copy:
        """The copy of the whole allocation that the array is a view of."""
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        low, size = _extent(owner)
        if low not in self._device_copies:
            self._device_copies[low] = self._copy(owner, low, size, grain(array.dtype))
        return self._device_copies[low]

    def _copy(self, owner: np.ndarray, low: int, size: int, itemsize: int) -> _Copy:
        """Of the `size` bytes from address `low` on, which are the owner's."""
        original = np.ndarray(size, np.uint8, (ctypes.c_uint8 * size).from_address(low))
        self._buffers.append(owner)
        self.allocations.append(Allocation(size=size, shift=_shift(itemsize)))
        number = len(self.allocations) - 1
        return _Copy(low, original, original.copy(), number, owner.flags.writeable)

    def _remembered(self, allocation: Allocation) -> int:
        """Bytes in which a profile remembers who touched it."""
        return (allocation.size >> allocation.shift) * self.cell_size

    def _too_large(self) -> list[int]:
        """The allocations, largest first, without which what is remembered is within WATCHED."""
        sizes = [self._remembered(allocation) for allocation in self.allocations]
        fitting = sorted(range(len(sizes)), key=sizes.__getitem__)
        left_out = []
        while sum(sizes[i] for i in fitting) > WATCHED:
            left_out.append(fitting.pop())
        return left_out

    def _watch(self, left_out: list[int]) -> None:
        """Makes room for what a profile remembers; KernelError where that is too much."""
        watched = [a for i, a in enumerate(self.allocations) if i not in left_out]
        need = sum(map(self._remembered, watched))
        if need > WATCHED:
            raise KernelError(
                f"A profile of these arrays needs {need / 1e9:.1f} GB to remember who touched "
                f"what, and takes {WATCHED / 1e9:.0f} GB at most: profile smaller arrays."
            )
        for allocation in self.allocations:
            sectors = np.zeros(allocation.size // SECTOR + 2, np.uint8)
            allocation.sectors = sectors.ctypes.data
            self.sectors.append(sectors)
        for allocation in watched:
            remembered = np.zeros(self._remembered(allocation) + 2 * self.cell_size, np.uint8)
            allocation.cells = remembered.ctypes.data
            self._buffers.append(remembered)

    def commit(self) -> None:
        """Writes the copies back; those of the host last, in the order of the arguments."""
        for copy in (*self._device_copies.values(), *self._host_copies):
            if copy.writeable:
                copy.original[:] = copy.private


def _aliased(spec: ArraySpec, shape: list[int], strides: list[int]) -> tuple[list, list]:
    """The shape and the strides of an alias, from those of the array that it is."""
    size = spec.dtype.itemsize
    if spec.alias.kind == "flat":
        return [prod(shape)], [size]
    if spec.alias.kind == "cast":
        bytes_in_row = shape[-1] * strides[-1]
        return [*shape[:-1], bytes_in_row // size], [*strides[:-1], size]
    inner = spec.inner
    steps = [prod(inner[d + 1 :]) * size for d in range(len(inner))]
    return [*shape, *inner], [*strides, *steps]


def _aligned(start: int) -> int:
    return -(-start // ALIGNMENT) * ALIGNMENT


def _place_next(entry: Array, spec: ArraySpec, used: int) -> int:
    """A shared or local array behind `used` bytes; how many bytes are used then."""
    start = _aligned(used)
    _fill(entry, spec.space, spec.shape, spec.dtype, start)
    return start + prod(spec.shape) * spec.dtype.itemsize


def _smallest_shared(program: Program) -> int:
    """The shift of the granules in which shared memory is watched."""
    sizes = [grain(a.dtype) for a in program.arrays if a.space in ("shared", "dynamic")]
    return _shift(min(sizes, default=4))


@cache
def _memory_type(dtype: np.dtype) -> int:
    """How an element lies in memory; nothing reads whole records, which are -1."""
    return -1 if dtype.names else memory_type(dtype)


@cache
def grain(dtype: np.dtype) -> int:
    """The largest power of 2 that divides sizes and places of all numbers in an element."""
    divisor = dtype.itemsize
    for name in dtype.names or ():
        kind, offset, *_ = dtype.fields[name]
        divisor = gcd(divisor, offset, grain(kind.base))
    return divisor & -divisor


def _shift(itemsize: int) -> int:
    """Memory is watched in granules of 2^shift bytes: the smallest elements that share it."""
    return itemsize.bit_length() - 1


def _extent(array: np.ndarray) -> tuple[int, int]:
    """Address of the first byte, and the number of bytes, from the first to the last element."""
    if array.flags.forc or not array.size:
        return array.ctypes.data, array.nbytes
    reach = [(n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)]
    below = sum(r for r in reach if r < 0)
    return array.ctypes.data + below, sum(abs(r) for r in reach) + array.itemsize


def _fill(
    entry: Array,
    space: str,
    shape: tuple[int, ...],
    dtype: np.dtype,
    base: int,
    strides: tuple[int, ...] | None = None,
) -> None:
    """The machine's row for an array; without strides it is C-contiguous."""
    ndim = len(shape)
    if strides is None:
        strides = [prod(shape[d + 1 :]) * dtype.itemsize for d in range(ndim)]
    entry.base = base
    entry.space = SPACES.index(space)
    entry.dimensions = ndim
    entry.memory_type = _memory_type(dtype)
    entry.shape[:ndim] = shape
    entry.strides[:ndim] = strides
