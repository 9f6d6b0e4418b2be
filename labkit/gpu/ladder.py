"""The matmul ladder as a whole: what its kernels count, and tables of it.

The kernels are those of `labkit.gpu.kernels`; what the compiler makes of them stands in
compiled_ladder.py of lesson what_limits_a_kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from labkit.figures.tables import table
from labkit.gpu.occupancy_limits import WARP
from labkit.gpu.profiler import profile
from labkit.provenance import Quantity, counted, predicted

TENSOR_CORE = "tensor core"
ISSUED = 4  # instructions of warps that an SM starts per clock
PASS = 128  # bytes: one float32 for each lane of a warp
SIMT = "the SIMT machine"

# What each rung changes.
RUNGS = {
    "naive": "lanes along a column; blocks of 16 x 16 threads",
    "coalesced": "lanes along a row; blocks of 32 x 32 threads",
    "shared tile": "a block shares tiles of 32 x 32 in shared memory",
    "1-D register tile": "8 results per thread, a tile of 64 x 64",
    "2-D register tile": "8 x 8 results per thread, a tile of 128 x 128; some bank conflicts",
    "vector loads": "one access moves four floats; no bank conflicts; c in whole sectors",
    "tuned": "fetches the next tile during this one; saves waiting, which is not counted",
    TENSOR_CORE: "mma; float16, half the bytes; a tile of 128 x 256",
}
COUNTS_NOTE = "Passes and accesses are for each multiply-add of a warp."
K_NOTE = (
    "a is 128 x 1,024, and b 1,024 x 128. Boehm's matrices have 4,096 rows and columns, so c is a "
    "smaller part of their traffic: the 2-D register tile would do 28.4 FLOP/B."
)
GENERATIONS_HEADS = ["instruction", "first GPUs", "a and b are in", "the sums are in"]
GENERATIONS = [
    ["mma, this size", "Ampere, sm_80", "registers", "registers"],
    ["wgmma", "Hopper, sm_90a", "shared memory; a can be in registers", "registers"],
    [
        "tcgen05.mma",
        "Blackwell, sm_100a",
        "shared memory; a can be in tensor memory",
        "tensor memory",
    ],
]
GENERATIONS_NOTE = (
    "Tensor memory: a memory in each SM for the tensor cores; threads copy from and to it. "
    "Source: NVIDIA, CUTLASS documentation, MMA programming guides."
)


def show_counts(counts: Counts) -> None:
    """The table of some rungs: what each changes, and its three counts."""
    rows = [[name, RUNGS[name], *numbers] for name, *numbers in counts.rows()]
    note = f"{COUNTS_NOTE} {K_NOTE}" if "2-D register tile" in counts.names else COUNTS_NOTE
    table(
        ["kernel", "what changes", "FLOP per byte of traffic", "passes", "accesses"],
        rows,
        note=note,
    )


def show_limits(counts: Counts, estimates: np.ndarray, ridge: float) -> None:
    """The table of some rungs: what each count leaves, the estimates [n], and the lowest count.

    `estimates` are shares of the peak, 0 to 1; `ridge` is the GPU's, in FLOP/B.
    (Lesson what_limits_a_kernel.)
    """
    shares = counts.shares(ridge)
    columns = np.transpose([*shares.values(), estimates])
    lowest = np.argmin([*shares.values()], axis=0)
    rows = []
    for name, numbers, number in zip(counts.names, columns, lowest, strict=True):
        percent = [predicted(100 * share, "%", "our three counts") for share in numbers]
        rows.append([name, *percent, list(shares)[number]])
    heads = ["traffic leaves", "passes leave", "instructions leave", "your estimate", "limited by"]
    table(["kernel", *heads], rows)


def show_generations() -> None:
    """The table of the tensor core's instructions: since when, and where numbers lie."""
    table(GENERATIONS_HEADS, GENERATIONS, note=GENERATIONS_NOTE)


# Counted


@dataclass(frozen=True)
class Counts:
    """What n kernels ask for each multiply-add of a warp, and for each byte of traffic."""

    names: list[str]
    intensity: np.ndarray  # [n] FLOP for each byte of the sectors that are touched
    passes: np.ndarray  # [n] of 128 bytes, over shared and global memory
    accesses: np.ndarray  # [n] instructions that reach either memory

    def shares(self, ridge: float) -> dict[str, np.ndarray]:
        """What each count leaves of the peak of a GPU with this ridge, FLOP/B: count -> [n]."""
        return {
            "traffic": self.intensity / ridge,
            "passes": 1 / (ISSUED * self.passes),
            "instructions": 1 / (1 + self.accesses),
        }

    def rows(self) -> list[list]:
        """A row for a table of each kernel: its name and its three numbers."""
        rows = []
        numbers = zip(self.names, self.intensity, self.passes, self.accesses, strict=True)
        for name, intensity, passes, accesses in numbers:
            row = [name, counted(intensity, "FLOP/B", SIMT)]
            rows.append([*row, counted(passes, "", SIMT), counted(accesses, "", SIMT)])
        return rows


def count(names: Iterable[str] | None = None, K: int = 1024) -> Counts:
    """Runs kernels of the ladder on the SIMT machine, and counts; all but tensor cores by default.

    Each multiplies a[128, K] by b[K, 128], or by b[K, 256] on tensor cores, of which a block makes
    that many columns. RuntimeError if a product is wrong: a kernel that skips work counts little.
    """
    from labkit.gpu.kernels.matmul import LADDER

    names = list(LADDER if names is None else names)
    found = []
    for name in names:
        counters, multiply_adds = _profiled(name, K)
        passes = counters["shared_load_transactions"] + counters["shared_store_transactions"]
        passes += counters["global_bytes"] / PASS
        accesses = sum(counters[key] for key in counters if key.endswith("_requests"))
        per_warp = WARP / multiply_adds
        found.append([counters["arithmetic_intensity"], per_warp * passes, per_warp * accesses])
    return Counts(names, *np.transpose(found))


def _profiled(name: str, K: int) -> tuple[Mapping[str, float], int]:
    """The counters of one kernel, and its multiply-adds."""
    from labkit.gpu.kernels.matmul import plan_matmul
    from labkit.gpu.kernels.tensor_core import plan_tensor_core

    rng = np.random.default_rng(0)
    on_tensor_cores = name == TENSOR_CORE
    M = 128
    N = 256 if on_tensor_cores else 128
    kind = np.float16 if on_tensor_cores else np.float32
    a = rng.standard_normal((M, K)).astype(kind)
    b = rng.standard_normal((K, N)).astype(kind)
    c = np.zeros((M, N), np.float32)
    if on_tensor_cores:
        kernel, grid, block = plan_tensor_core(M, N)
        b_turned = np.ascontiguousarray(b.T)
        operands = a.view(np.uint32), b_turned.view(np.uint32)
    else:
        kernel, grid, block = plan_matmul(M, N, name)
        operands = a, b
    counters = profile(kernel, grid, block, *operands, c, M, N, K).counters
    if not np.allclose(c, a.astype(float) @ b.astype(float), atol=1e-3):
        raise RuntimeError(f"The product of {name!r} is wrong, so its counts mean nothing.")
    return counters, M * N * K


def replaced_by_one_mma() -> Quantity:
    """How many ordinary multiply-adds of a warp one tensor-core instruction does, counted."""
    from labkit.gpu.kernels.tensor_core import one_product

    rng = np.random.default_rng(0)
    a = rng.standard_normal((16, 16)).astype(np.float16)
    b = rng.standard_normal((8, 16)).astype(np.float16)
    c = np.zeros((16, 8), np.float32)
    counters = profile(one_product, 1, WARP, a.view(np.uint32), b.view(np.uint32), c).counters
    if not np.allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-3):
        raise RuntimeError("The product is wrong, so its count means nothing.")
    multiply_adds = counters["flops_fp16"] / 2
    return counted(multiply_adds / WARP, "multiply-adds of a warp", SIMT)
