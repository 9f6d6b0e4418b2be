"""What fits on a multiprocessor: our limits and occupancy, beside CUDA's own."""

from functools import partial
from typing import Any

import numpy as np

from labkit.gpu import compile_report, cuda, occupancy
from labkit.gpu.kernels.matmul import LADDER, plan_matmul
from labkit.gpu.occupancy_limits import LIMITS, Multiprocessor, multiprocessor
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.sections.handed_in import make
from labkit.gpu.report.tasks import Bench
from labkit.provenance import predicted

MATMUL = "void(float32[:,::1], float32[:,::1], float32[:,::1], int64, int64, int64)"
ROWS = "void(float32[:,::1], float32[:,::1])"
ROOMS = (12_000, 3_391, 3_392)  # of lesson profiling: as handed in, whole, too large
ATTRIBUTES = {  # of a Multiprocessor: CUDA's name for it, and what to divide it by
    "warps": ("MAX_THREADS_PER_MULTIPROCESSOR", 32),
    "blocks": ("MAX_BLOCKS_PER_MULTIPROCESSOR", 1),
    "registers": ("MAX_REGISTERS_PER_MULTIPROCESSOR", 1),
    "shared_bytes": ("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR", 1),
}


def work(bench: Bench, earlier: dict) -> Work:
    """The limits of an SM, the ladder, and the rooms of a lesson."""
    for name in ATTRIBUTES:
        yield f"{name.replace('_', ' ')} of a multiprocessor", partial(limit_row, bench, name)
    for rung in LADDER:
        kernel, _, block = plan_matmul(4096, 4096, rung)
        fits = partial(fitting_row, bench, kernel, MATMUL, block, "what_limits_a_kernel")
        yield f"matmul, {rung}", fits
    for room in ROOMS:
        kernel = make(room)
        fits = partial(fitting_row, bench, kernel, ROWS, 128, "profiling")
        yield f"room for {room:,} columns", fits


def arch_of(bench: Bench) -> str:
    """ "sm_90" for this GPU; NotHere without one, or for one whose limits we do not know."""
    if bench.dry:
        raise NotHere("Only a GPU has CUDA's own limits.")
    major, minor = cuda.get_current_device().compute_capability
    arch = f"sm_{major}{minor}"
    if arch not in LIMITS:
        raise NotHere(f"The limits of {arch} are not known to the course.")
    return arch


def limit_row(bench: Bench, name: str) -> Row:
    """One limit of an SM, as we have it and as CUDA has it."""
    arch = arch_of(bench)
    ours: Multiprocessor = multiprocessor(arch)
    attribute, unit = ATTRIBUTES[name]
    theirs = getattr(cuda.get_current_device(), attribute) // unit
    own = getattr(ours, name)
    numbers = {
        "CUDA": bench.measured(theirs, ""),
        "ours": predicted(own, "", f"the table of {arch}"),
    }
    return Row(numbers, own == theirs, "equal" if own == theirs else f"ours is {own - theirs:+,}")


def fitting_row(bench: Bench, kernel: Any, signature: str, block: Any, lesson: str) -> Row:
    """Registers and blocks of one kernel: compiled and predicted, and as CUDA loads it."""
    arch = arch_of(bench)
    threads = int(np.prod(block))
    loaded = kernel.compile(signature)
    registers = loaded.regs_per_thread
    processors = cuda.get_current_device().MULTIPROCESSOR_COUNT
    blocks = loaded.max_cooperative_grid_blocks(threads) // processors
    ours = occupancy(registers, loaded.shared_mem_per_block, threads, arch)
    numbers = {
        "blocks, by CUDA": bench.measured(blocks, "blocks"),
        "blocks, by us": predicted(ours.blocks, "blocks", f"the limits of {arch}"),
        "occupancy": ours.share,
        "registers, loaded": bench.measured(registers, "registers"),
    }
    said = ["the blocks are equal"]
    if ours.blocks != blocks:
        said = [f"our number of blocks is off by {ours.blocks - blocks:+}"]
    try:
        report = compile_report(kernel, signature, arch)
    except Exception as error:  # its parts may have other versions than ours
        said.append(f"compile_report gave nothing ({error})")
    else:
        numbers["registers, compiled"] = report.quantity("registers")
        if registers != report.registers:
            said.append(f"{registers - report.registers:+} registers when loaded")
    return Row(numbers, ours.blocks == blocks, "; ".join(said), lesson)
