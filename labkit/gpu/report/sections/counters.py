"""The SIMT machine's counters beside Nsight Compute's: equal, or by which rule they differ."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from labkit.gpu import profile
from labkit.gpu.ladder_speeds import miss
from labkit.gpu.report.rows import NotHere, Row, Work, once
from labkit.gpu.report.sections.counted_kernels import Counted, cases
from labkit.gpu.report.sections.nsight import ask, taken_apart, terms
from labkit.gpu.report.tasks import Bench
from labkit.provenance import Quantity, counted, measured

COMPARED = """
global_load_requests global_load_sectors global_load_bytes shared_load_requests
global_store_requests global_store_sectors global_store_bytes shared_store_requests
shared_load_transactions shared_load_conflicts shared_store_transactions shared_store_conflicts
shared_load_bytes shared_store_bytes local_loads local_stores
traffic_bytes flops_fp32 flops_fp64 atomics
""".split()
TRAFFIC = {  # what moved between the memories of the GPU, which the SIMT machine does not have
    "L2 to L1": "lts__t_bytes_srcunit_tex.sum",
    "DRAM": "dram__bytes_{read, write}.sum",
}
PASSES = ("tiled matmul", "matmul in registers")
CONVOLUTIONS = ("direct convolution", "implicit GEMM")


Found = dict[str, dict[str, float]]  # row -> metric -> value


class Rule(NamedTuple):
    """Why two counts of some kernels may differ, and whether these two do so by it."""

    kernels: tuple[str, ...]
    counters: tuple[str, ...]
    says: str
    holds: Callable[[float, float], bool]  # of ours and the GPU's


MERGED = (
    "the compiler merges four reads of a thread, of neighbours in a row of a tile, into one: in "
    "the machine code for sm_90, 40 reads where the source has 64"
)
REGISTERS = "the compiler keeps the local array in registers, so the GPU reads and writes none"
LEAST_MERGED = 40 / 64  # of the source's reads; another compiler may merge fewer
RULES = (
    Rule(
        ("tiled matmul", "implicit GEMM"),
        ("shared_load_requests", "shared_load_transactions"),
        MERGED,
        lambda ours, theirs: LEAST_MERGED * ours <= theirs < ours,
    ),
    Rule(
        ("matmul in registers",),
        ("local_loads", "local_stores"),
        REGISTERS,
        lambda ours, theirs: theirs == 0 < ours,
    ),
)


def work(bench: Bench, earlier: dict) -> Work:
    """A row for each kernel; then the traffic of the two convolutions."""
    every = cases()
    asked = once(of_the_gpu)
    for name, case in every.items():
        yield name, partial(compared, bench, name, case, asked)
    for name in PASSES:
        yield f"passes of a multiply-add, {name}", partial(passes, bench, name, every[name], asked)
    for name in CONVOLUTIONS:
        yield f"traffic of the {name}", partial(traffic, bench, name, every[name], asked)


def metrics() -> frozenset[str]:
    """All metrics that are asked for, in one run of `ncu`."""
    formulas = [metric for name in COMPARED for _, metric in terms(name)]
    formulas += [metric for text in TRAFFIC.values() for _, metric in taken_apart(text)]
    return frozenset(formulas)


def of_the_gpu() -> Found:
    """Row -> metric -> what the GPU counted."""
    return ask(metrics(), tuple(cases()))


def of_the_machine(case: Counted) -> Mapping[str, float]:
    """What the SIMT machine counts in the same launch."""
    return profile(case.kernel, case.grid, case.block, *case.arguments, case.output()).counters


def total(found: Mapping[str, float], parts: list[tuple[int, str]]) -> float:
    """The sum of weighted metrics; NaN if one of them was not read."""
    return sum(weight * found.get(metric, math.nan) for weight, metric in parts)


def rule_for(kernel: str, counter: str, ours: float, theirs: float) -> str:
    """By which rule the two differ; "" if by none that is known."""
    for rule in RULES:
        if kernel in rule.kernels and counter in rule.counters and rule.holds(ours, theirs):
            return rule.says
    return ""


def compared(bench: Bench, name: str, case: Counted, asked: Callable[[], Found]) -> Row:
    """Every counter of one kernel that both can tell."""
    theirs = asked()[name]
    ours = of_the_machine(case)
    equal: list[str] = []
    unread: list[str] = []
    by_rule: dict[str, list[str]] = {}
    unexplained: list[str] = []
    for counter in COMPARED:
        their = total(theirs, terms(counter))
        both = f"{counter} {ours[counter]:,.0f}, on the GPU {their:,.0f}"
        if math.isnan(their):
            unread.append(counter)
        elif their == ours[counter]:
            equal.append(counter)
        elif rule := rule_for(name, counter, ours[counter], their):
            by_rule.setdefault(rule, []).append(both)
        else:
            unexplained.append(both)
    if len(unread) == len(COMPARED):
        raise NotHere("ncu reads none of these counters.")
    said = [f"{len(equal)} of {len(COMPARED)} counters are equal"]
    said += [f"{'; '.join(counts)}: {rule}" for rule, counts in by_rule.items()]
    said += [f"not explained: {'; '.join(unexplained)}"] if unexplained else []
    said += [f"not read by this ncu: {', '.join(unread)}"] if unread else []
    number = counted(len(unexplained), "differences without a rule", "comparing the two")
    return Row({"result": number}, not unexplained, ". ".join(said))


def passes(bench: Bench, name: str, case: Counted, asked: Callable[[], Found]) -> Row:
    """The lesson's count of passes of shared memory, beside the GPU's."""
    ours = of_the_machine(case)
    multiply_adds = ours["flops_fp32"] / 2 / 32  # of whole warps
    reads = "shared_load_transactions"
    theirs = total(asked()[name], terms(reads))
    if math.isnan(theirs):
        raise NotHere("ncu does not read this counter.")
    numbers = {
        "on the GPU": measured(theirs / multiply_adds, "passes", bench.device.name),
        "in the lesson": counted(ours[reads] / multiply_adds, "passes", "the SIMT machine"),
    }
    said = f"the lesson's count is {miss(numbers['in the lesson'], numbers['on the GPU'])}"
    return Row(numbers, None, said, lesson="tiles")


def traffic(bench: Bench, name: str, case: Counted, asked: Callable[[], Found]) -> Row:
    """What really moved, beside the lesson's two counts, between which it should lie."""
    found = asked()[name]
    ours = of_the_machine(case)
    numbers: dict[str, Quantity] = {}
    for level, formula in TRAFFIC.items():
        value = total(found, taken_apart(formula))
        if not math.isnan(value):
            numbers[level] = measured(value, "B", bench.device.name)
    if not numbers:
        raise NotHere("ncu reads none of these counters.")
    least = ours["compulsory_bytes"]
    most = ours["traffic_bytes"]
    numbers["no cache"] = counted(most, "B", "the SIMT machine")
    numbers["perfect cache"] = counted(least, "B", "the SIMT machine")
    said = []
    for level in TRAFFIC:
        if level in numbers:
            said.append(f"{level} {_between(float(numbers[level]), least, most)}")
    return Row(numbers, None, "; ".join(said), lesson="convolution_kernels")


def _between(value: float, least: float, most: float) -> str:
    """Where a number lies, of two that should enclose it."""
    if value < least:
        return f"is {least / value:.2f} times less than a perfect cache would need"
    if value > most:
        return f"is {value / most:.2f} times more than no cache would need"
    return "lies between the two counts"
