"""What the lessons Tiles and What limits a kernel predict, tried; then the rows of `cases`."""

from collections.abc import Callable, Mapping
from functools import partial

import torch

from labkit.checks.lesson_files import module_of
from labkit.gpu import ladder
from labkit.gpu.kernels.matmul import LADDER
from labkit.gpu.ladder_speeds import miss, published_rates
from labkit.gpu.report.rows import NotHere, Row, Work, once
from labkit.gpu.report.sections import cases
from labkit.gpu.report.sections.counters import MERGED
from labkit.gpu.report.sections.peaks import this_gpu
from labkit.gpu.report.tasks import Bench, normal, ours, ratio
from labkit.gpu.report.timing import Task, measure
from labkit.provenance import Quantity, predicted, published

tiles = module_of("tiles", "solutions")
EIGHTH = 12.5  # percent of the peak: two passes for a multiply-add
PAIRS = {  # of rungs whose published ratio the lesson Tiles shows
    "tiles, beside coalesced": ("shared tile", "coalesced"),
    "64 results per thread, beside tiles": ("2-D register tile", "shared tile"),
}


def work(bench: Bench, earlier: dict) -> Work:
    """The rows, lesson by lesson."""
    for name, rungs in PAIRS.items():
        yield name, partial(pair_row, bench, earlier, *rungs)
    yield "the lesson's patches, beside its tiles", partial(patches_row, bench)
    yield "the arithmetic that tiles alone leave", partial(tiled_row, bench)
    counts = once(ladder.count)
    for rung in LADDER:
        yield f"estimate of {rung}", partial(estimate_row, bench, earlier, rung, counts)
    yield from cases.work(bench, earlier)


def rate_of(earlier: Mapping[str, dict], rung: str) -> Quantity:
    """The FLOP/s of a rung that this report has measured before. NotHere if it has not."""
    for row in earlier.get("speeds", {}).get("rows", []):
        if row["what"] == f"matmul: {rung}" and "ours, rate" in row["numbers"]:
            return Quantity(**row["numbers"]["ours, rate"])
    raise NotHere("The speed of this kernel is not in this report.")


def pair_row(bench: Bench, earlier: dict, faster: str, slower: str) -> Row:
    """How many times as fast one rung is, here and as published."""
    here = float(rate_of(earlier, faster)) / float(rate_of(earlier, slower))
    rates = published_rates()
    there = float(rates[faster]) / float(rates[slower])
    numbers = {
        "here": bench.measured(here, "times as fast"),
        "in the lesson": published(there, "times as fast", rates[faster].source),
    }
    said = f"the published number is {miss(numbers['in the lesson'], numbers['here'])}"
    return Row(numbers, None, said, "tiles")


def product(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor]:
    """The reference of a product."""
    return (a @ b,)


def tiled_times(bench: Bench) -> tuple[int, dict]:
    """The size of a square product, and the times of the lesson's two kernels with tiles."""
    n = bench.size(2048, 70)
    thirty_two = -(-n // 32)
    sixty_four = -(-n // 64)
    both = {
        "tiles": ours((tiles.matmul_tiled, (thirty_two, thirty_two), (32, 32))),
        "patches": ours((tiles.matmul_registers, (sixty_four, sixty_four), (32, 8))),
    }
    task = Task("tiles", normal((n, n), (n, n)), ((n, n),), both, product)
    return n, measure(task, bench.device)


def patches_row(bench: Bench) -> Row:
    """What the lesson's own patches gain; its text promises no number for them."""
    _, times = tiled_times(bench)
    gain = bench.measured(ratio(times, "tiles", "patches"), "times as fast")
    return Row({"here": gain}, None, "16 results per thread instead of one", "tiles")


def tiled_row(bench: Bench) -> Row:
    """The lesson's tiled kernel: at most an eighth of the peak, by its passes."""
    n, times = tiled_times(bench)
    peak = float(this_gpu(bench).peak["fp32"])
    share = 100 * 2 * n**3 / times["tiles"].seconds / peak
    numbers = {
        "of the peak": bench.measured(share, "%"),
        "at most, in the lesson": predicted(EIGHTH, "%", "two passes for a multiply-add"),
    }
    if bench.dry:
        return Row(numbers, None, "", "tiles")
    holds = share <= EIGHTH
    if holds:
        return Row(numbers, True, "the bound holds", "tiles")
    said = f"the bound is passed: {share / EIGHTH:.2f} times it; {MERGED}"
    return Row(numbers, False, said, "tiles")


def estimate_row(bench: Bench, earlier: dict, rung: str, counts: Callable) -> Row:
    """The lesson's estimate for this GPU, beside what the rung reaches of its peak."""
    rate = float(rate_of(earlier, rung))
    gpu = this_gpu(bench)
    counted = counts()
    place = counted.names.index(rung)
    shares = counted.shares(gpu.ridge("fp32"))
    each = {limit: float(share[place]) for limit, share in shares.items()}
    limit = min(each, key=each.get)
    numbers = {
        "of the peak": bench.measured(100 * rate / float(gpu.peak["fp32"]), "%"),
        "estimate": predicted(100 * each[limit], "%", "the lowest of three counts"),
    }
    missed = miss(numbers["estimate"], numbers["of the peak"])
    said = f"by our counts, limited by {limit}; the estimate is {missed}"
    return Row(numbers, None, said, "what_limits_a_kernel")
