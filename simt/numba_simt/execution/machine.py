"""Launches a program on the machine in c/machine.c: lays out its memory, runs it, reads the result.

The kernel works on a private copy of the arrays' memory, which is written back only when the kernel
came to its end.
"""

import ctypes
import os
import struct
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from numba_simt import ops
from numba_simt.errors import UsageError
from numba_simt.execution.counting import Access, Accesses, add_executed, by_line, totals
from numba_simt.execution.hazards import Hazard, HazardError, describe_all
from numba_simt.execution.layout import Memory
from numba_simt.execution.native import library
from numba_simt.execution.places import Place, Places
from numba_simt.execution.printing import Printed
from numba_simt.execution.structs import (
    INT64,
    AccessRecord,
    Allocation,
    HazardRecord,
    Machine,
)
from numba_simt.execution.tables import c_header
from numba_simt.execution.target import target
from numba_simt.program import Program

# Instructions in loops: of one warp, and of all while nothing happens. NUMBA_SIMT_STEPS overrides.
STEPS = 200_000_000
# Instructions in loops between two looks at Ctrl-C: the fewest, the first time, and the most. No
# result depends on them; how long one takes does on what it is, so the clock says how many fit.
SLICES = (2_000, 100_000, 400_000)
PATIENCE = 0.1  # seconds
MORE = 0
DONE = 1
HAZARDS = 256  # that are kept
ACCESSES = 4096
_SPECIALS = (  # in the order of `special` in c/machine.h
    *("threadIdx.x", "threadIdx.y", "threadIdx.z", "laneid"),
    *("blockIdx.x", "blockIdx.y", "blockIdx.z"),
)
_INTEGER = struct.Struct("=Q8x")
_IN_REGISTERS = {  # how a scalar register holds any other number, by its type in ops.TYPES
    "F16": np.float32,
    "F32": np.float32,
    "F64": np.float64,
    "C64": np.complex64,
    "C128": np.complex128,
}
_SLOT = 16  # bytes of a register


@dataclass(frozen=True)
class Outcome:
    """What a run showed. Counters and accesses are empty unless it was watched."""

    completed: bool
    hazards: tuple[Hazard, ...]
    by_line: dict[tuple[str, int], dict[str, int]]
    counters: dict[str, int]
    accesses: Sequence[Access]
    unwatched: tuple[str, ...] = ()  # arrays too large for a search for races

    def raise_if_stopped(self) -> None:
        """HazardError (also an IndexError, where an index was out of bounds)."""
        if not self.completed:
            raise HazardError.of(self.hazards[-1])


class TooLong(Exception):
    """A run that was given up after `most` instructions; `outcome` is what it showed so far."""

    outcome: Outcome


@cache
def _library() -> ctypes.CDLL:
    lib = library(Path(__file__).parent / "c" / "machine.c", c_header())
    lib.simt_run.argtypes = [ctypes.POINTER(Machine), INT64]
    lib.simt_cell_size.restype = INT64
    return lib


def _in_register(kind: str, value: object) -> bytes:
    """The bytes of a scalar register that holds the value."""
    if kind in ("I64", "U64"):  # as the hardware keeps them: modulo 2^64
        return _INTEGER.pack(int(value) % 2**64)
    return _IN_REGISTERS[kind](value).tobytes().ljust(_SLOT, b"\0")


def _scalars(
    program: Program, arguments: list, memory: Memory, grid: Place, block: Place
) -> np.ndarray:
    """The scalar registers at the start: constants, arguments, extents, blockDim and gridDim."""
    bank = [bytes(_SLOT)] * max(program.scalars, 1)
    for register, kind, value in program.constants:
        bank[register] = _in_register(ops.TYPES[kind], value)
    for position, register, kind, _ in program.scalar_arguments:
        bank[register] = _in_register(ops.TYPES[kind], arguments[position])
    for array, dimension, register in program.extents:
        bank[register] = _in_register("I64", memory.arrays[array].shape[dimension])
    for name, sizes in (("blockDim", block), ("gridDim", grid)):
        for axis, size in zip("xyz", sizes, strict=True):
            special = program.specials.get(f"{name}.{axis}")
            if special is not None:
                bank[~special] = _in_register("I64", size)
    return np.frombuffer(b"".join(bank), np.uint8)


def _most_steps() -> int:
    """NUMBA_SIMT_STEPS, or STEPS; UsageError for what is no number."""
    given = os.environ.get("NUMBA_SIMT_STEPS", "")
    if given and not given.isdecimal():
        raise UsageError(f"NUMBA_SIMT_STEPS is {given!r}: it is a number of instructions.")
    return int(given or STEPS)


class _Notes:
    """What the machine writes during a run."""

    def __init__(self, program: Program, accesses: int) -> None:
        self.counters = np.zeros((len(program.lines), len(ops.COUNTERS)), np.int64)
        self.executed = np.zeros((len(program.code), 2), np.int64)  # warps, lanes
        self.hazards = (HazardRecord * HAZARDS)()
        self.accesses = (AccessRecord * max(accesses, 1))()


def run(
    program: Program,
    grid: Place,
    block: Place,
    arguments: list,
    shared: int = 0,
    watch: bool = False,
    accesses: int = ACCESSES,
    steps: int | None = None,
    hosts: Collection[int] = (),
    partly: bool = False,
    most: int | None = None,
) -> Outcome:
    """Run a program on a grid of blocks.

    `arguments`: for each parameter an array (the device memory itself) or a number. `shared`: bytes
    of dynamic shared memory. `watch`: count, and look for races and unwritten memory; the first
    `accesses` requests to memory are kept. `steps`: instructions in loops before it is stopped.
    `hosts`: positions of arrays of the host, each of which is to be device memory of its own.
    `partly`: where remembering who touched what would take more than 4 GB, the largest arrays are
    left out, and named in the outcome, instead of KernelError. `most`: after about so many
    instructions in loops the run is given up; then no array is changed, and TooLong is raised with
    the outcome so far. So is KeyboardInterrupt at Ctrl-C: it has an `outcome`.
    """
    gpu = target()
    cell_size = _library().simt_cell_size() if watch else 0
    kept = accesses if watch else 0
    memory = Memory(program, arguments, hosts, shared, cell_size, partly)
    scalars = _scalars(program, arguments, memory, grid, block)
    code = np.ascontiguousarray(program.code, np.int32)
    notes = _Notes(program, kept)
    allocations = (Allocation * max(len(memory.allocations), 1))(*memory.allocations)
    special = [program.specials.get(name, ops.NONE) for name in _SPECIALS]
    m = Machine(
        code=code.ctypes.data,
        arrays=ctypes.addressof(memory.arrays),
        allocations=ctypes.addressof(allocations),
        scalars=scalars.ctypes.data,
        n_vectors=program.vectors,
        n_scalars=max(program.scalars, 1),
        shared_bytes=memory.shared_bytes,
        shared_shift=memory.shared_shift,
        local_bytes=memory.local_bytes,
        grid=(INT64 * 3)(*grid),
        block=(INT64 * 3)(*block),
        special=(INT64 * 7)(*special),
        watch=watch,
        max_steps=steps or _most_steps(),
        independent_threads=gpu.independent_threads,
        counters=notes.counters.ctypes.data,
        executed=notes.executed.ctypes.data,
        hazards=ctypes.addressof(notes.hazards),
        max_hazards=HAZARDS,
        accesses=ctypes.addressof(notes.accesses),
        max_accesses=kept,
    )
    printed = Printed(program, m) if program.prints else None

    def outcome(completed: bool) -> Outcome:
        at = Places(program, grid, block, memory.arrays)
        hazards = describe_all(notes.hazards[: m.n_hazards], at, gpu)
        requests = Accesses(notes.accesses[: m.n_accesses], program, grid)
        if not watch:
            return Outcome(completed, hazards, {}, {}, requests)
        add_executed(program, notes.executed, notes.counters)
        lines = by_line(program, notes.counters)
        total = totals(notes.counters, memory.sectors)
        return Outcome(completed, hazards, lines, total, requests, memory.unwatched)

    try:
        completed = _execute(m, most) == DONE
    except (KeyboardInterrupt, TooLong) as ended:
        ended.outcome = outcome(False)
        if printed and not isinstance(ended, TooLong):  # after which it is run again
            printed.say()
        raise
    if printed:
        printed.say()
    if completed:
        memory.commit()
    return outcome(completed)


def _execute(m: Machine, most: int | None) -> int:
    """Runs to the end; DONE, or what the C core says of a kernel that it stopped."""
    lib = _library()
    if lib.simt_start(ctypes.byref(m)):
        raise MemoryError("The SIMT machine could not get memory for its blocks.")
    fewest, slice, largest = SLICES
    if most is not None:  # all slices alike: where it is given up does not depend on the clock
        fewest = largest = slice
    done = 0
    try:
        while True:
            start = time.perf_counter()
            if (status := lib.simt_run(ctypes.byref(m), slice)) != MORE:
                return status
            done += slice
            if most is not None and done >= most:
                raise TooLong
            took = time.perf_counter() - start  # Python looks at Ctrl-C here
            if took > PATIENCE:
                slice = max(fewest, slice // 4)
            elif took < PATIENCE / 4:
                slice = min(largest, 2 * slice)
    finally:
        lib.simt_end(ctypes.byref(m))
