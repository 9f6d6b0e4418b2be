"""Launches a program on the machine in c/machine.c: lays out its memory, runs it, reads the result.

The structures are the twins of those in c/machine.h. The kernel works on a private copy of the
arrays' memory, which is written back only when the kernel came to its end.
"""

import ctypes
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from labkit.gpu.simt import ops
from labkit.gpu.simt.counting import Access, Accesses, AccessRecord, add_executed, tabulate
from labkit.gpu.simt.hazards import Hazard, HazardError, Places, describe_all
from labkit.gpu.simt.layout import INT32, INT64, POINTER, Allocation, Memory, struct
from labkit.gpu.simt.values import Program
from labkit.native import library

# Instructions in loops: of one warp, and of all while nothing happens. LABKIT_SIMT_STEPS overrides.
STEPS = 200_000_000
SLICE = 4_000_000  # instructions between two looks at Ctrl-C
MORE, DONE = 0, 1


_Hazard = struct(
    "Hazard",
    kind__line__other_line__array__atomic__other_atomic__write__other_write=INT32,
    warp__lane__other_warp__other_lane__space__axis=INT32,
    offset__index__length__count=INT64,
)
_Machine = struct(
    "Machine",
    code__arrays__allocations__scalars=POINTER,
    n_vectors__n_scalars__shared_bytes__shared_shift__local_bytes=INT64,
    grid__block=INT64 * 3,
    special=INT64 * 7,
    watch__max_steps=INT64,
    counters__executed__hazards=POINTER,
    n_hazards__max_hazards=INT64,
    accesses=POINTER,
    n_accesses__max_accesses=INT64,
    state=POINTER,
)


@dataclass(frozen=True)
class Outcome:
    """What a run showed. Counters and accesses are empty unless it was watched."""

    completed: bool
    hazards: tuple[Hazard, ...]
    by_line: dict[tuple[str, int], dict[str, int]]
    counters: dict[str, int]
    accesses: Sequence[Access]

    def raise_if_stopped(self) -> None:
        """HazardError (also an IndexError, where an index was out of bounds)."""
        if not self.completed:
            raise HazardError.of(self.hazards[-1])


@cache
def _library() -> ctypes.CDLL:
    lib = library(Path(__file__).parent / "c" / "machine.c", ops.c_header())
    lib.simt_run.argtypes = [ctypes.POINTER(_Machine), INT64]
    lib.simt_cell_size.restype = INT64
    return lib


def _scalars(program: Program, arguments: list, memory: Memory, fixed: dict[str, int]) -> bytes:
    """The scalar registers at the start: constants, arguments, extents, blockDim and gridDim."""
    bank = np.zeros((max(program.scalars, 1), 16), np.uint8)
    kinds = dict(zip(ops.TYPES, ["i8", "u8", "f4", "f4", "f8", "c8", "c16"], strict=True))

    def put(register: int, rt: int, value: object) -> None:
        kind = np.dtype(kinds[ops.TYPES[rt]])
        if kind.kind in "iu":  # as the hardware keeps them: modulo 2^64
            value = int(value) & (2**64 - 1)
            kind = np.dtype("u8")
        bank[register, : kind.itemsize] = np.frombuffer(kind.type(value).tobytes(), np.uint8)

    for register, rt, value in program.constants:
        put(register, rt, value)
    for position, register, rt, _ in program.scalar_arguments:
        put(register, rt, arguments[position])
    for array, dimension, register in program.extents:
        put(register, ops.RT["I64"], memory.arrays[array].shape[dimension])
    for name, value in fixed.items():
        if name in program.specials:
            put(~program.specials[name], ops.RT["I64"], value)
    return bank.tobytes()


def run(
    program: Program,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    arguments: list,
    shared: int = 0,
    watch: bool = False,
    accesses: int = 4096,
    steps: int | None = None,
) -> Outcome:
    """Run a program on a grid of blocks.

    `arguments`: for each parameter an array (the device memory itself) or a number. `shared`: bytes
    of dynamic shared memory. `watch`: count, and look for races and unwritten memory; the first
    `accesses` requests to memory are kept. `steps`: instructions in loops before it is stopped.
    """
    memory = Memory(program, arguments, shared, _library().simt_cell_size() if watch else 0)
    names = [f"{what}.{axis}" for what in ("blockDim", "gridDim") for axis in "xyz"]
    scalars = _scalars(program, arguments, memory, dict(zip(names, block + grid, strict=True)))
    code = np.ascontiguousarray(program.code, np.int32)
    counters = np.zeros((len(program.lines), len(ops.COUNTERS)), np.int64)
    executed = np.zeros((len(code), 2), np.int64)
    hazards, kept = (_Hazard * 256)(), (AccessRecord * (accesses if watch else 1))()
    allocations = (Allocation * max(len(memory.allocations), 1))(*memory.allocations)
    places = [f"threadIdx.{a}" for a in "xyz"] + ["laneid"] + [f"blockIdx.{a}" for a in "xyz"]
    m = _Machine(
        code=code.ctypes.data,
        arrays=ctypes.addressof(memory.arrays),
        allocations=ctypes.addressof(allocations),
        scalars=ctypes.cast(ctypes.c_char_p(scalars), POINTER).value,
        n_vectors=program.vectors,
        n_scalars=max(program.scalars, 1),
        shared_bytes=memory.shared_bytes,
        shared_shift=memory.shared_shift,
        local_bytes=memory.local_bytes,
        grid=(INT64 * 3)(*grid),
        block=(INT64 * 3)(*block),
        special=(INT64 * 7)(*(program.specials.get(name, ops.NONE) for name in places)),
        watch=watch,
        max_steps=steps or int(os.environ.get("LABKIT_SIMT_STEPS", STEPS)),
        counters=counters.ctypes.data,
        executed=executed.ctypes.data,
        hazards=ctypes.addressof(hazards),
        max_hazards=len(hazards),
        accesses=ctypes.addressof(kept),
        max_accesses=len(kept) if watch else 0,
    )
    status = _execute(m)
    if status == DONE:
        memory.commit()
    where = Places(program, grid, block, memory.arrays)
    found = describe_all(hazards[: m.n_hazards], where)
    total, by_line = {}, {}
    if watch:
        add_executed(program, executed, counters)
        total, by_line = tabulate(program, counters, memory)
    requests = Accesses(kept[: m.n_accesses], program, grid)
    return Outcome(status == DONE, found, by_line, total, requests)


def _execute(m: _Machine) -> int:
    lib = _library()
    if lib.simt_start(ctypes.byref(m)):
        raise MemoryError("The SIMT machine could not get memory for its blocks.")
    try:
        while (status := lib.simt_run(ctypes.byref(m), SLICE)) == MORE:
            pass  # Python looks at Ctrl-C here
    finally:
        lib.simt_end(ctypes.byref(m))
    return status
