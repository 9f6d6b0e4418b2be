"""What lessons predict of convolutions and of kernels handed in with a fault, tried on a GPU."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from labkit.checks.lesson_files import module_of
from labkit.gpu.ladder_speeds import miss
from labkit.gpu.report.rows import Row, Work
from labkit.gpu.report.sections import counted_kernels, handed_in
from labkit.gpu.report.sections.counters import CONVOLUTIONS, of_the_machine
from labkit.gpu.report.sections.peaks import this_gpu
from labkit.gpu.report.tasks import Bench, Shape, normal, ours, ratio, sides
from labkit.gpu.report.timing import Prepare, Task, Timing, measure
from labkit.gpu.training.tensors import launch
from labkit.provenance import counted, predicted

RACES = "races_and_other_faults"
PROFILING = "profiling"
convolution_kernels = module_of("convolution_kernels", "solutions")
whole = module_of(PROFILING, "solutions")
DOUBLES = 24  # float64 instructions of case 2, by the lesson's compiler report
MATRIX_UNITS = ("a100", "h100", "h200")  # whose peak in fp64 is twice that of ordinary units


def work(bench: Bench, earlier: dict) -> Work:
    """The two convolutions, then the cases."""
    yield "conv2, implicit GEMM beside direct", partial(convolution_row, bench)
    yield "row maximum, right results of a race", partial(race_row, bench)
    yield "case 1, scattered atomic additions", partial(bias_row, bench)
    yield "case 2, float64 in a line", partial(float64_row, bench)
    yield "case 3, a quarter of the warps", partial(room_row, bench)


def timed(
    bench: Bench,
    both: dict[str, Prepare],
    inputs: tuple[Shape, ...],
    out: Shape,
    reference: Callable[..., torch.Tensor],
    error: float = 1e-3,
) -> dict[str, Timing]:
    """Two kernels of ours on the same work, one output."""
    limits = dict.fromkeys(both, error)
    task = Task(
        " and ".join(both), normal(*inputs), (out,), both, lambda *i: (reference(*i),), limits
    )
    return measure(task, bench.device)


def with_numbers(kernel: Any, grid: Any, block: Any, *numbers: int, flat: bool = False) -> Prepare:
    """The side that launches kernel(x, w, b, *numbers, y); `flat`: with w as a matrix."""

    def prepare(inputs: tuple, outputs: tuple) -> Callable[[], None]:
        x, w, b = inputs
        weights = w.view(len(w), -1) if flat else w

        def run() -> None:
            launch((kernel, grid, block), x, weights, b, *numbers, *outputs)

        return run

    return prepare


def convolution_row(bench: Bench) -> Row:
    """The lesson's two kernels on conv2: one's requests touch many times the other's sectors."""
    N = bench.size(256, 1)
    C = bench.size(32, 2)
    H = bench.size(16, 4)
    K = bench.size(64, 3)
    outputs = N * K * H * H
    threads = -(-outputs // 128)
    tiles = (-(-N * H * H // 32), -(-K // 32))
    both = {
        "direct": with_numbers(convolution_kernels.conv2d_kernel, threads, 128, 1, 1),
        "implicit GEMM": with_numbers(
            handed_in.implicit_gemm, tiles, (32, 32), 3, 3, 1, 1, flat=True
        ),
    }
    shapes = ((N, C, H, H), (K, C, 3, 3), (K,))
    times = timed(bench, both, shapes, (N, K, H, H), partial(F.conv2d, padding=1))
    direct, by_tiles = (
        of_the_machine(counted_kernels.cases()[name])["traffic_bytes"] for name in CONVOLUTIONS
    )
    numbers = {
        "here": bench.measured(ratio(times, "direct", "implicit GEMM"), "times as fast"),
        "traffic in the lesson": counted(direct / by_tiles, "times less", "the SIMT machine"),
    }
    said = (
        "the lesson counts the traffic without a cache, promises no speed, and says that with a "
        "perfect cache the two tie"
    )
    found = numbers | sides(bench, times, 2 * outputs * C * 9)
    return Row(found, None, said, "convolution_kernels")


def race_row(bench: Bench) -> Row:
    """How often the kernel without a barrier is right, in a hundred launches on rows of 64."""
    runs = bench.size(100, 3)
    rows = bench.size(4096, 5)
    on = bench.device.torch_device
    right = 0
    for seed in range(runs):
        (x,) = normal((rows, 64))(torch.Generator(on).manual_seed(seed))
        top = torch.full((rows,), torch.nan, device=on)
        launch((handed_in.handed_in_row_max, rows, 32), x, top)
        right += torch.equal(top, x.max(dim=1).values)
    number = bench.measured(100 * right / runs, "% of 100 launches right")
    said = "the SIMT machine gives 100 right results and the race; a GPU promises neither"
    return Row({"here": number}, None, said, RACES)


def bias_row(bench: Bench) -> Row:
    """Case 1, as handed in and whole."""
    M = bench.size(2**16, 70)
    K = bench.size(1024, 40)
    grid = (-(-K // 32), -(-M // 64))
    both = {
        "handed in": ours((handed_in.handed_in_bias_gradient, grid, 32), zero=True),
        "whole": ours((whole.bias_gradient, grid, 32), zero=True),
    }
    times = timed(bench, both, ((M, K),), (K,), lambda dy: dy.sum(dim=0), 1e-2)
    said = "64 times fewer atomic additions, 8 times fewer sectors per request"
    return gain_row(bench, times, said)


def gelu(x: torch.Tensor) -> torch.Tensor:
    """x / (1 + exp(-1.702 x))"""
    return x / (1 + torch.exp(-1.702 * x))


def float64_row(bench: Bench) -> Row:
    """Case 2, as handed in and whole; the lesson's sum is made for this GPU."""
    n = bench.size(2**26, 300)
    grid = -(-n // 128)
    both = {
        "handed in": ours((handed_in.handed_in_gelu, grid, 128)),
        "whole": ours((whole.quick_gelu, grid, 128)),
    }
    found = gain_row(bench, timed(bench, both, ((n,),), (n,), gelu), "")
    gpu = this_gpu(bench)
    lanes = float(gpu.peak["fp64"]) / 2  # multiply-adds in a second
    if gpu.key in MATRIX_UNITS:
        lanes /= 2
    copying = 8 / float(gpu.bandwidth)
    slower = max(DOUBLES / lanes, copying) / copying
    by = f"{DOUBLES} instructions on float64 units, or 8 bytes of the DRAM"
    predicted_gain = predicted(slower, "times as fast when whole", by)
    numbers = found.numbers | {"by the lesson's sum": predicted_gain}
    said = f"the lesson's sum is {miss(predicted_gain, numbers['here'])}"
    return Row(numbers, None, "" if bench.dry else said, PROFILING)


def room_row(bench: Bench) -> Row:
    """Case 3: 4 blocks on a multiprocessor, or 16."""
    rows = bench.size(2**14, 3)
    both = {
        "handed in": ours((handed_in.make(12_000), rows, 128)),
        "whole": ours((handed_in.make(3_391), rows, 128)),
    }
    shape = (rows, 1024)
    centred = lambda x: x - x.mean(dim=1, keepdim=True)  # noqa: E731
    times = timed(bench, both, (shape,), shape, centred)
    return gain_row(bench, times, "by our occupancy, 4 times as many warps on an H200")


def gain_row(bench: Bench, times: dict[str, Timing], stated: str) -> Row:
    """How many times as fast a repaired kernel is."""
    gain = bench.measured(ratio(times, "handed in", "whole"), "times as fast when whole")
    return Row({"here": gain} | sides(bench, times), None, stated, PROFILING)
