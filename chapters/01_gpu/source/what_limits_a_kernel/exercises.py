"""The exercises of the lesson: how many blocks fit, and how fast a kernel is by its counts."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.gpu.occupancy_limits import Multiprocessor
from labkit_lessons.gpu.what_limits_a_kernel.wrong.blocks_that_fit import IDEAS, LANES
from labkit_lessons.gpu.what_limits_a_kernel.wrong.lowest_limit import ESTIMATES, ISSUED

# blocks [n] of warps [n] and shared bytes [n] of a block, registers [n] of a thread, and an SM

LIMITS = ("warps", "registers", "shared_bytes", "blocks")
A6000 = Multiprocessor(warps=48, blocks=16, registers=65536, shared_bytes=102400)
H100 = Multiprocessor(warps=64, blocks=32, registers=65536, shared_bytes=233472)
FEW_REGISTERS = Multiprocessor(warps=64, blocks=64, registers=8192, shared_bytes=131072)
SMALL = Multiprocessor(warps=21, blocks=7, registers=32768, shared_bytes=49152)


def allowed(warps: int, registers: int, shared: int, sm: Multiprocessor) -> tuple[int, ...]:
    """The blocks of one kernel that each of LIMITS allows."""
    by_registers = sm.registers // (LANES * warps * registers)
    return sm.warps // warps, by_registers, sm.shared_bytes // shared, sm.blocks


def needs(rng: np.random.Generator, n: int, sm: Multiprocessor, first: int) -> tuple:
    """What n kernels need. Which of LIMITS allows least changes along the arrays.

    `first` is the number of the one that is least in the kernel that is made first. From 6 kernels
    on there are a block that does not fit at all, and one that fits without a rest. Up to 10
    kernels all numbers of an array differ.
    """
    if sm is FEW_REGISTERS:  # they are least even if 32 threads are taken for one
        return (
            np.array([1, 2, 3]),
            np.array([200, 210, 90]),
            rng.permutation([1100, 1200, 1300]),
            sm,
        )
    found = []
    if n >= 6:
        found = [(5, 24, sm.shared_bytes + 1), (7, 40, sm.shared_bytes // 2)]
    while len(found) < n:
        wanted = (first + len(found)) % len(LIMITS)
        kernel = kernel_limited_by(wanted, rng, sm)
        differs = all(np.all(np.not_equal(kernel, other)) for other in found)
        if differs or n > 10:
            found.append(kernel)
    warps, registers, shared = np.transpose(found[::-1])
    return warps, registers, shared, sm


def kernel_limited_by(
    wanted: int, rng: np.random.Generator, sm: Multiprocessor
) -> tuple[int, int, int]:
    """Warps, registers and shared bytes of a kernel of which LIMITS[wanted] alone allows least.

    Only a kernel limited by the number of blocks has fewer than 3 warps. One limited by registers
    has fewer blocks if a warp takes them in portions of 256, as the hardware does.
    """
    while True:
        warps = int(np.exp(rng.uniform(0, 3)))
        registers = int(rng.integers(16, 256))
        shared = int(np.exp(rng.uniform(7, 10.5)))
        limits = allowed(warps, registers, shared, sm)
        others = limits[:wanted] + limits[wanted + 1 :]
        is_small = warps < 3
        if LIMITS[wanted] == "registers":
            rounded = -(-LANES * registers // 256) * 256
            if sm.registers // (warps * rounded) == limits[wanted]:
                continue
        if 1 <= limits[wanted] < min(others) and is_small == (LIMITS[wanted] == "blocks"):
            return warps, registers, shared


def fitting(warps, registers, shared, sm):
    """The least of what the four limits allow, kernel by kernel."""
    return np.minimum.reduce(
        [
            sm.warps // warps,
            sm.registers // (LANES * warps * registers),
            sm.shared_bytes // shared,
            np.full(len(warps), sm.blocks),
        ]
    )


blocks_that_fit = exercise(
    "gpu.blocks_that_fit",
    oracle=fitting,
    cases=cases_of(  # kernels, SM, which limit is least in one of them
        {
            "one of each": (4, A6000, 0),
            "all sizes 1": (1, A6000, 1),
            "two kernels": (2, H100, 2),
            "prime": (7, SMALL, 3),
            "few registers": (3, FEW_REGISTERS, 1),
            "another GPU": (6, H100, 1),
            "equal warps in some of many": (40, A6000, 2),
        },
        needs,
    ),
    wrong=IDEAS,
    outputs=("blocks",),
    forbidden=LIBRARIES,
    dtype="any",
)

# share [n] of intensity [n], passes [n], accesses [n], ridge: the smallest of three estimates


def counts(rng: np.random.Generator, n: int, ridge: float, first: int) -> tuple:
    """Counts of n kernels. Which of the three estimates is smallest changes along the array.

    `first` is the one that is smallest in the first kernel. The other two leave from 2 % more to
    many times as much, also more than the whole peak.
    """
    smallest = (first + np.arange(n)) % 3
    shares = rng.uniform(0.02, 0.6, n)
    traffic = shares * np.exp(rng.uniform(0.02, 3, n))
    passes = shares * np.exp(rng.uniform(0.02, 3, n))
    instructions = shares + (1 - shares) * rng.uniform(0.02, 0.95, n)  # never above 1
    for number, estimate in enumerate((traffic, passes, instructions)):
        estimate[smallest == number] = shares[smallest == number]
    if n >= 5:  # two ties, each with a third that leaves more
        traffic[0], passes[0], instructions[0] = 0.25, 0.25, 0.8
        traffic[1], passes[1], instructions[1] = 0.9, 0.5, 0.5
    return ridge * traffic, 1 / (ISSUED * passes), 1 / instructions - 1, ridge


def lowest(intensity, passes, accesses, ridge):
    """What traffic, passes and instructions leave, each as a share of the peak: the smallest."""
    of_traffic = intensity / ridge
    of_passes = 1 / (ISSUED * passes)
    of_instructions = 1 / (1 + accesses)
    return np.minimum.reduce([of_traffic, of_passes, of_instructions])


lowest_limit = exercise(
    "gpu.lowest_limit",
    oracle=lowest,
    cases=cases_of(  # kernels, ridge, which estimate is smallest in the first
        {
            "one of each": (3, 50.4, 0),
            "all sizes 1": (1, 14.0, 1),
            "prime": (7, 50.4, 2),
            "two kernels": (2, 25.3, 1),
            "another ridge": (5, 153.0, 0),
            "many kernels": (40, 2.5, 2),
        },
        counts,
    ),
    wrong=ESTIMATES,
    outputs=("share",),
    forbidden=LIBRARIES,
)

EXERCISES = [blocks_that_fit, lowest_limit]
