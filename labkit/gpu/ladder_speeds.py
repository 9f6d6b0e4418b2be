"""How fast the matmul ladder is: as predicted, as published, and as measured on this machine.

Published are the same steps in C++ on an RTX A6000. (Lesson what_limits_a_kernel.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from timeit import timeit
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.tables import table
from labkit.gpu import cuda
from labkit.provenance import Quantity, measured, predicted, published

if TYPE_CHECKING:
    from labkit.hardware import Machine

SOURCE = "S. Boehm, SGEMM_CUDA, README, 2023: C++, RTX A6000, 4096 x 4096"
PUBLISHED = {  # GFLOP/s
    "naive": 309,
    "coalesced": 1986.5,
    "shared tile": 2980.3,
    "1-D register tile": 8474.7,
    "2-D register tile": 15971.7,
    "vector loads": 18237.3,
    "cuBLAS": 23249.6,
}

CLOSE = 1.2  # an estimate is close if it is within 20 %
WORKLOG = (
    "Profiles: S. Boehm, How to Optimize a CUDA Matmul Kernel for cuBLAS-like Performance: "
    "a Worklog, 2022."
)
NO_CACHE = (
    "caches: Boehm's profiler saw {} GB/s from global memory, "
    "which makes {:.0f} FLOP/B; we count {:.2f}"
)
BLOCKS = (
    "; with his blocks of 32 x 32 we would count 0.06 and be 6.6 times too low; and scattered "
    "requests take more passes than we count"
)
SHARES_NOTE = (
    "In percent of the A6000's published peak in float32, 38.7 TFLOP/s, "
    "by which the published speeds are divided, too."
)
PROFILED = {"naive": 15, "coalesced": 110}  # GB/s
CAUSES = {
    "shared tile": (
        "waiting is not counted: Boehm's profiler saw warps wait for shared memory, "
        "and no second block fits"
    ),
    "1-D register tile": "partly by chance: the compiler removes reads, and the warps wait",
    "2-D register tile": "partly by chance, for the same two reasons",
    "vector loads": (
        "Boehm's profiler saw bank conflicts in his kernel, and ours has none; "
        "the time to fetch a tile is not counted"
    ),
}


def published_rates() -> dict[str, Quantity]:
    """step -> FLOP/s of the same steps in C++ on an RTX A6000, and of cuBLAS."""
    return {name: published(1e9 * rate, "FLOP/s", SOURCE) for name, rate in PUBLISHED.items()}


def predicted_rates(
    names: Sequence[str], shares: Sequence[float], gpu: Machine
) -> dict[str, Quantity]:
    """step -> FLOP/s, from shares [n] of a GPU's peak in fp32."""
    peak = float(gpu.peak["fp32"])
    return {
        name: predicted(float(share) * peak, "FLOP/s", "the lowest share")
        for name, share in zip(names, shares, strict=True)
    }


def share_of_peak(rate: Quantity, gpu: Machine) -> Quantity:
    """A rate in FLOP/s as a percentage of a GPU's peak in fp32, with the rate's word and source."""
    percent = 100 * float(rate) / float(gpu.peak["fp32"])
    return Quantity(percent, "%", rate.word, rate.source)


def rows_of_shares(
    ours: Mapping[str, Quantity], theirs: Mapping[str, Quantity], gpu: Machine
) -> list[list]:
    """A row of a table for each step: predicted and published share of the peak.

    None where one of the two is missing.
    """
    rows = []
    for name in {**ours, **theirs}:
        row = [name, None, None]
        if name in ours:
            row[1] = share_of_peak(ours[name], gpu)
        if name in theirs:
            row[2] = share_of_peak(theirs[name], gpu)
        rows.append(row)
    return rows


def miss(ours: Quantity, theirs: Quantity) -> str:
    """ "close", or "3.4 times too low": an estimate beside what was published."""
    ratio = float(ours) / float(theirs)
    if 1 / CLOSE <= ratio <= CLOSE:
        return "close"
    return f"{1 / ratio:.1f} times too low" if ratio < 1 else f"{ratio:.1f} times too high"


def show_misses(
    ours: Mapping[str, Quantity], theirs: Mapping[str, Quantity], intensities: Mapping[str, float]
) -> None:
    """The table of the steps that were predicted and published: how good, and why not better.

    `intensities`: step -> FLOP/B, as counted without a cache.
    """
    rows = []
    for name in ours:
        if name not in theirs:
            continue
        cause = CAUSES.get(name)
        if name in PROFILED:
            intensity = float(theirs[name]) / (1e9 * PROFILED[name])
            cause = NO_CACHE.format(PROFILED[name], intensity, intensities[name])
            if name == "naive":
                cause += BLOCKS
        rows.append([name, miss(ours[name], theirs[name]), cause])
    table(["kernel", "the estimate is", "cause"], rows, note=WORKLOG)


def measure_speeds() -> dict[str, Quantity]:
    """NumPy's product here; on a CUDA GPU also cuBLAS, and the ladder in % of it."""
    x, y = np.random.default_rng(0).standard_normal((2, 1024, 1024), dtype=np.float32)
    speeds = {"NumPy": measured(_rate(lambda: x @ y, 1024), "FLOP/s")}
    if cuda.__name__ == "numba.cuda":
        speeds |= _speeds_on_a_gpu(4096)
    return speeds


def _speeds_on_a_gpu(n: int) -> dict[str, Quantity]:
    """The same on a GPU for n x n matrices. A launch returns at once: the clock must wait."""
    import torch

    from labkit.gpu.kernels.matmul import LADDER, plan_matmul

    x, y, z = torch.randn(3, n, n, device="cuda")
    device = torch.cuda.get_device_name()
    wait = torch.cuda.synchronize
    library = _rate(lambda: (torch.mm(x, y, out=z), wait()), n)
    speeds = {"cuBLAS": measured(library, "FLOP/s", device)}
    arrays = [cuda.as_cuda_array(tensor) for tensor in (x, y, z)]
    for name in LADDER:
        plan = plan_matmul(n, n, name)
        launch = plan.kernel[plan.grid, plan.block]
        rate = _rate(lambda launch=launch: (launch(*arrays, n, n, n), wait()), n)
        speeds[name] = measured(100 * rate / library, "% of cuBLAS", device)
    return speeds


def _rate(work: Callable[[], object], n: int) -> float:
    """FLOP/s of a product of n x n matrices, the best of six runs."""
    seconds = min(timeit(work, number=1) for _ in range(6))
    return 2 * n**3 / seconds
