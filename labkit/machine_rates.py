"""How fast the machine at hand multiplies and copies, by the clock.

Each function measures for about the seconds it is given, and returns a rate with what was done.
NumPy and PyTorch load only where they are used.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

MIB = 2**20


def best_product(seconds: float) -> tuple[float, str]:
    """FLOP/s of the best float32 product, and its size: the first power of two that takes 20 ms."""
    import numpy as np

    rng = np.random.default_rng(0)
    n = 256
    best = 0.0
    while best < 0.02 and n < 4096:
        n *= 2
        a, b = rng.random((2, n, n), dtype=np.float32)  # [n, n] each
        c = np.zeros_like(a)
        best = _best_time(lambda a=a, b=b, c=c: np.matmul(a, b, out=c), 0, runs=1)
    best = min(best, _best_time(lambda: np.matmul(a, b, out=c), seconds))
    return 2 * n**3 / best, f"float32 product of {n} x {n} matrices"


def best_convolution(seconds: float) -> tuple[float, str]:
    """FLOP/s of PyTorch's best float32 3x3 convolution, forward, 64 to 64 channels of 56 x 56."""
    import torch

    x = torch.rand(8, 64, 56, 56)  # [N,C,H,W]
    w = torch.rand(64, 64, 3, 3)  # [K,C,R,S]
    with torch.inference_mode():
        best = _best_time(lambda: torch.conv2d(x, w, padding=1), seconds)
    outputs = 8 * 64 * 56 * 56  # with this padding y has the shape of x
    flops = 2 * outputs * 64 * 3 * 3
    return flops / best, "float32 3x3 convolution, 8 x 64 x 56 x 56"


def best_copy(seconds: float, memory: int, cores: int) -> tuple[float, str]:
    """B/s, read plus written, of the best copy from one array to another; and how it was done.

    `memory` (bytes) and `cores` are those of this machine; on a small one the arrays are small.
    """
    import numpy as np

    size = max(64, min(256, memory // 16 // MIB))  # no cache holds 256 MiB twice; memory does
    threads = min(cores, 16)  # one core alone seldom fills the memory's bandwidth
    elements = size * MIB // 8  # of float64
    sources = np.array_split(np.ones(elements), threads)
    targets = np.array_split(np.zeros(elements), threads)
    with ThreadPoolExecutor(threads) as pool:  # copyto lets go of the interpreter's lock
        best = _best_time(lambda: list(pool.map(np.copyto, targets, sources)), seconds)
    return 2 * size * MIB / best, f"copy of {size} MiB by {threads} thread(s)"


def _best_time(work: Callable[[], object], seconds: float, runs: int = 3) -> float:
    """Seconds of the fastest of at least `runs` runs, after one to warm up."""
    work()
    times: list[float] = []
    start = perf_counter()
    while len(times) < runs or perf_counter() - start < seconds:
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)
