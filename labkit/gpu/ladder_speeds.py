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
SHARES_NOTE = (
    "In percent of the A6000's published peak in float32, 38.7 TFLOP/s. Boehm's naive kernel has "
    "blocks of 32 x 32; for these, the estimate would be 6.6 times too low. His profiler saw bank "
    "conflicts in his kernel with vector loads, and ours has none. For the register tiles, two "
    "errors may cancel: we ignore merged reads and waiting."
)


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


def miss(ours: Quantity, theirs: Quantity) -> str:
    """ "close", or "3.4 times too low": an estimate beside what was published."""
    ratio = float(ours) / float(theirs)
    if 1 / CLOSE <= ratio <= CLOSE:
        return "close"
    return f"{1 / ratio:.1f} times too low" if ratio < 1 else f"{ratio:.1f} times too high"


def show_trial(ours: Mapping[str, Quantity], theirs: Mapping[str, Quantity], gpu: Machine) -> None:
    """The table of all steps: predicted and published share of a GPU's peak, and how far apart.

    A dash where one of the two is missing. (Lesson what_limits_a_kernel.)
    """
    rows = []
    for name in {**ours, **theirs}:
        estimate = share_of_peak(ours[name], gpu) if name in ours else None
        speed = share_of_peak(theirs[name], gpu) if name in theirs else None
        both = name in ours and name in theirs
        said = miss(ours[name], theirs[name]) if both else None
        rows.append([name, estimate, speed, said])
    table(["kernel", "estimate", "published speed", "the estimate is"], rows, note=SHARES_NOTE)


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
