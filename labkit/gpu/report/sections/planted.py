"""Kernels with one planted mistake each, and one without: who finds which?

`compute-sanitizer` watches this module as a program of its own, which launches those that it names.
A launch that is stopped, or never ends, is the program's last: CUDA takes no more from it.
"""

import faulthandler
import sys
from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from labkit.checks.lesson_files import module_of
from labkit.gpu import cuda
from labkit.gpu.report.sections.handed_in import handed_in_row_max
from numba_simt.extensions.vector import load_float32x4

block_sum = module_of("memory_and_warps", "solutions").block_sum
THREADS = 64
PATIENCE = 20  # seconds for a launch and its compilation; one that takes longer never ends


@cuda.jit
def read_too_early(x, y):
    """No barrier between writing the tile and reading what another warp wrote."""
    tile = cuda.shared.array(64, "float32")
    i = cuda.threadIdx.x
    tile[i] = x[i]
    y[i] = tile[63 - i]


@cuda.jit
def written_too_early(x, y):
    """No barrier between reading the tile and writing it again."""
    tile = cuda.shared.array(64, "float32")
    i = cuda.threadIdx.x
    tile[i] = x[i]
    cuda.syncthreads()
    mirrored = tile[63 - i]
    tile[i] = mirrored
    cuda.syncthreads()
    y[i] = tile[i]


@cuda.jit
def added_by_all(x, y):
    """All threads of the grid add to one number without an atomic."""
    y[0] += x[cuda.grid(1)]


@cuda.jit
def barrier_in_half_a_warp(x, y):
    """Only half of each warp comes to the barrier."""
    i = cuda.threadIdx.x
    if i % 32 < 16:
        cuda.syncthreads()
    y[i] = x[i]


@cuda.jit
def barrier_in_one_warp(x, y):
    """Only one of two warps comes to the barrier."""
    i = cuda.threadIdx.x
    if i < 32:
        cuda.syncthreads()
    y[i] = x[i]


@cuda.jit
def never_written_shared(x, y):
    """Half of the tile is read and was never written."""
    tile = cuda.shared.array(64, "float32")
    i = cuda.threadIdx.x
    if i < 32:
        tile[i] = x[i]
    cuda.syncthreads()
    y[i] = tile[i]


@cuda.jit
def never_written_global(x, y):
    """y is read before anybody wrote it."""
    i = cuda.threadIdx.x
    y[i] = y[i] + x[i]


@cuda.jit
def next_row(x, y):
    """The index is beyond its row, but still in the array's memory."""
    i = cuda.threadIdx.x
    y[i] = x[0, i + 1]


@cuda.jit
def beyond_the_array(x, y):
    """The last thread reads beyond the array."""
    i = cuda.threadIdx.x
    y[i] = x[i + 1]


@cuda.jit
def beyond_the_tile(x, y):
    """The last thread writes beyond the block's shared memory."""
    tile = cuda.shared.array(64, "float32")
    i = cuda.threadIdx.x
    tile[i + 1] = x[i]
    cuda.syncthreads()
    y[i] = tile[i]


@cuda.jit
def four_from_an_odd_place(x, y):
    """Four floats in one access, from an address that is no multiple of 16."""
    i = cuda.threadIdx.x
    if i == 0:
        y[0], y[1], y[2], y[3] = load_float32x4(x, 1)


class Planted(NamedTuple):
    """A launch, what the SIMT machine must say, and which tools must speak.

    kinds   of hazards that the SIMT machine reports; none for a right kernel
    tools   of compute-sanitizer that report it
    rule    why the two differ, where they do
    fresh   whether y is memory that nobody wrote
    stops   whether a GPU may stop it, or wait for ever, whoever watches
    text    the mistake, where the kernel's docstring does not tell it
    """

    kernel: Callable
    kinds: tuple[str, ...]
    tools: tuple[str, ...]
    rule: str = ""
    grid: int = 1
    block: int = THREADS
    shape: tuple[int, ...] = (THREADS,)  # of x
    fresh: bool = False
    stops: bool = False
    text: str = ""

    @property
    def mistake(self) -> str:
        """What is wrong with it, in a sentence."""
        return self.text or self.kernel.py_func.__doc__

    @property
    def name(self) -> str:
        """The kernel's, as the tools print it."""
        return self.kernel.py_func.__name__

    def arguments(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y, on the host."""
        x = np.random.default_rng(0).standard_normal(self.shape).astype(np.float32)
        return x, np.zeros(THREADS, np.float32)


SHARED_ALONE = "Racecheck looks at shared memory alone"
WHOLE_MEMORY = "Memcheck sees whole pieces of memory, not the axes of an array in them"
GLOBAL_ALONE = "Initcheck looks at global memory alone"
AT_THE_LAUNCH = "The SIMT machine takes an array as written when the launch begins"

PLANTED = (
    Planted(block_sum, (), (), block=128, shape=(128,), text="No mistake: lesson 2's tree sum."),
    Planted(read_too_early, ("race", "uninitialised"), ("racecheck",)),
    Planted(written_too_early, ("race",), ("racecheck",)),
    Planted(
        handed_in_row_max,
        ("race",),
        ("racecheck",),
        grid=2,
        block=32,
        shape=(2, 32),
        text="No barrier between the lanes of a warp: case 3 of Races and other faults.",
    ),
    Planted(added_by_all, ("race",), (), SHARED_ALONE, grid=2, block=32),
    Planted(never_written_shared, ("uninitialised",), (), GLOBAL_ALONE),
    Planted(never_written_global, (), ("initcheck",), AT_THE_LAUNCH, fresh=True),
    Planted(next_row, ("out_of_bounds",), (), WHOLE_MEMORY, shape=(2, THREADS)),
    Planted(barrier_in_half_a_warp, ("divergent_barrier",), ("synccheck",), stops=True),
    Planted(barrier_in_one_warp, ("divergent_barrier",), ("synccheck",), stops=True),
    Planted(beyond_the_array, ("out_of_bounds",), ("memcheck",), stops=True),
    Planted(beyond_the_tile, ("out_of_bounds",), ("memcheck",), stops=True),
    Planted(four_from_an_odd_place, ("misaligned",), ("memcheck",), stops=True),
)


def launch(names: Collection[str]) -> None:
    """Each of these kernels once, up to the first that is stopped; lines tell how far it came."""
    for planted in PLANTED:
        if planted.name not in names:
            continue
        print(f"LAUNCH {planted.name}", flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)  # ends a program that is stuck
        try:
            x, y = planted.arguments()
            out = cuda.device_array(y.shape, y.dtype) if planted.fresh else cuda.to_device(y)
            planted.kernel[planted.grid, planted.block](cuda.to_device(x), out)
            cuda.synchronize()
        except Exception as error:  # the tool, or the GPU, stopped it
            print(f"STOPPED {planted.name}: {type(error).__name__}", flush=True)
            return
        finally:
            faulthandler.cancel_dump_traceback_later()
        print(f"ENDED {planted.name}", flush=True)


if __name__ == "__main__":
    launch(sys.argv[1:])
