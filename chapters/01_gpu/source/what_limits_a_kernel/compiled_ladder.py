"""What the compiler makes of the matmul ladder: registers, shared memory, spills, reads.

The kernels are those of `labkit.gpu.kernels`; `labkit.gpu.ladder` counts them. (Lesson
what_limits_a_kernel.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from labkit.gpu.occupancy_limits import WARP, Occupancy, occupancy
from labkit.provenance import Quantity, compiled, predicted

ROWS_NOTE = (
    "Warps and shared memory are those of a block, registers those of a thread. "
    "Shared memory includes 1,024 B that CUDA keeps for itself. "
    "The hardware rounds a block's needs up to fixed portions."
)
ARCH = "sm_86"  # of the RTX A6000, for which speeds were published
KEPT = 1024  # bytes of shared memory that CUDA keeps of each block, from sm_80 on
UNITS = {
    "registers": "registers",
    "shared": "bytes",
    "spills": "bytes",
    "reads": "reads",
}


@dataclass(frozen=True)
class Compiled:
    """What n kernels need of an SM, as the compiler says."""

    names: list[str]
    warps: np.ndarray  # [n] of a block
    registers: np.ndarray  # [n] of a thread
    shared: np.ndarray  # [n] bytes of a block, with the 1,024 that CUDA keeps of it
    spills: np.ndarray  # [n] bytes of a thread
    reads: np.ndarray  # [n] instructions that read shared memory
    by: str

    def quantity(self, name: str, number: str) -> Quantity:
        """One number of one kernel, as quantity("shared tile", "reads")."""
        found = getattr(self, number)[self.names.index(name)]
        return compiled(int(found), UNITS[number], self.by)

    def occupancy(self, name: str) -> Occupancy:
        """The blocks of one kernel that fit, with all that the hardware rounds up."""
        place = self.names.index(name)
        threads = WARP * int(self.warps[place])
        shared = int(self.shared[place]) - KEPT
        return occupancy(int(self.registers[place]), shared, threads, ARCH)

    def blocks(self) -> np.ndarray:
        """The same for all of them: blocks [n]."""
        return np.array([self.occupancy(name).blocks for name in self.names])

    def rows(self, blocks: Sequence[int]) -> list[list]:
        """A row of a table for each kernel: its needs, and the blocks [n] and warps that fit."""
        limits = f"the limits of {ARCH}"
        rows = []
        for place, name in enumerate(self.names):
            warps = int(self.warps[place])
            registers = compiled(int(self.registers[place]), "", self.by)
            shared = compiled(int(self.shared[place]), "bytes", self.by)
            there = int(blocks[place])
            fit = predicted(there, "", limits), predicted(there * warps, "", limits)
            rows.append([name, warps, registers, shared, *fit])
        return rows


# As NVVM V13.0.88 and nvJitLink compile them for sm_86, for machines on which these do not run:
# registers of a thread, shared bytes of a block, spills, reads of shared memory.
STORED = {
    "naive": (27, 0, 0, 0),
    "coalesced": (27, 0, 0, 0),
    "shared tile": (38, 8192, 0, 40),
    "1-D register tile": (64, 4096, 0, 24),
    "2-D register tile": (112, 8320, 0, 4),
    "vector loads": (99, 8320, 0, 4),
    "tuned": (127, 16896, 0, 32),
}
STORED_BY = "NVVM V13.0.88 and nvJitLink for sm_86, stored with the course"
MATRIX = "float32[:, ::1]"
SIGNATURE = f"void({MATRIX}, {MATRIX}, {MATRIX}, int64, int64, int64)"


def compile_all() -> Compiled:
    """The kernels of the ladder, compiled for the RTX A6000; stored numbers where none can be."""
    from labkit.gpu.kernels.matmul import LADDER

    try:
        numbers, by = _compiled_here()
    except ImportError:  # on macOS, for instance
        numbers = STORED
        by = STORED_BY
    warps = []
    for name in numbers:
        block = LADDER[name].block
        threads = block if isinstance(block, int) else prod(block)
        warps.append(threads // WARP)
    registers, shared, spills, reads = np.transpose([*numbers.values()])
    names = list(numbers)
    needs = np.array(warps), registers, shared + KEPT
    return Compiled(names, *needs, spills, reads, by)


def _compiled_here() -> tuple[dict[str, tuple], str]:
    """What STORED and STORED_BY hold, by this machine's compiler; ImportError without one."""
    from labkit.gpu.compiler import compile_report
    from labkit.gpu.kernels.matmul import LADDER

    numbers = {}
    for name, rung in LADDER.items():
        report = compile_report(rung.kernel, SIGNATURE, ARCH)
        reads = sum(n for kind, n in report.accesses.items() if kind.startswith("ld.shared"))
        needs = report.registers, report.shared_bytes, report.spills
        numbers[name] = (*needs, reads)
    return numbers, report.by
