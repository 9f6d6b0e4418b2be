"""What the compiler says of a program, shown as tables. Lesson what a training step costs."""

from collections.abc import Mapping, Sequence

import numpy as np

from labkit import figures
from labkit.convnet import layer_costs
from labkit.hardware import machine
from labkit.provenance import Quantity, compiled, counted, predicted
from labkit.tpu.compiler import Compiled
from labkit.tpu.published import MLPERF, MLPERF_SOURCE

CAUTIONS = (
    "Google gives only upper limits for the area of a TPU's die, so the true density may be "
    "higher; a v2's die would have to be below 300 mm² to be as dense as a V100. Power is the "
    "largest seen in use for v3 and v4, and the limit of the design for the others. By its design "
    "limit of 450 W (published in Ten Lessons, table 1), a v3 has 0.27 TFLOP/s/W, a third less "
    "than a V100; by the power seen in use it has a tenth more. Of v5e, v5p and v6e Google "
    "publishes neither area nor power. We read the tables of the papers by Jouppi et al. in "
    "summaries, not in the papers themselves."
)

ALSO = {"select-and-scatter": "select-and-scatter (the backward pass of a pool)"}


def cycles_of(made: Compiled) -> np.ndarray:
    """Cycles [n] of the operations that have an estimate, in the order in which they run."""
    return np.array([op.cycles for op in made.ops if op.cycles is not None])


def share_of_cycles(made: Compiled, *kinds: str) -> float:
    """What share of a program's estimated cycles operations of these kinds have, from 0 to 1."""
    cycles = [op.cycles for op in made.ops if op.cycles is not None and op.kind in kinds]
    return sum(cycles) / made.estimated_cycles


def share_of_flops(images: int) -> float:
    """What share of the FLOP of a step of the course's network are products, from 0 to 1."""
    flops = {cost.name: float(cost.flops) for cost in layer_costs(images)}
    products = flops["conv1"] + flops["conv2"] + flops["fc1"] + flops["fc2"]
    return products / sum(flops.values())


def shares_of_products(step: Compiled, images: int) -> tuple[Quantity, Quantity]:
    """Convolutions and matrix products in the course's network's step: % of FLOP, % of cycles."""
    by_cycles = share_of_cycles(step, "convolution", "matmul")
    of_flop = counted(100 * share_of_flops(images), "%", "labkit.costs")
    return of_flop, compiled(100 * by_cycles, "%", "libtpu")


def side_by_side(programs: Mapping[str, Compiled]) -> None:
    """A table of programs: their operations, in the order in which they run, and their cycles."""
    rows = []
    for name, made in programs.items():
        known = ", ".join(op.kind for op in made.ops if op.cycles is not None)
        without = ", ".join(sorted({op.kind for op in made.ops if op.cycles is None}))
        cycles = compiled(made.estimated_cycles, "cycles", "libtpu")
        rows.append([name, known, cycles, without or None])
    figures.table(["program", "operations", "estimate", "without an estimate"], rows)


def operations(made: Compiled, most: int = 10) -> None:
    """A table of the operations with an estimate, at most so many, the longest first."""
    known = [op for op in made.ops if op.cycles is not None]
    known.sort(key=lambda op: -op.cycles)
    rows = []
    for op in known[:most]:
        rows.append([op.name, op.kind, compiled(op.cycles, "cycles", "libtpu"), op.layer or None])
    without = sorted({op.kind for op in made.ops if op.cycles is None})
    without = [ALSO.get(kind, kind) for kind in without]
    all_of_them = len(known) + made.unestimated
    note = f"{len(known)} of {all_of_them} operations have an estimate, together "
    note += f"{made.estimated_cycles:,} cycles; each includes what was fused into it."
    if without:
        note += f" Without one: {', '.join(without)}."
    if any(op.layer.startswith("transpose(jvp(") for op in known):
        note += " Here jvp(conv1) is conv1's forward pass, transpose(jvp(conv1)) its backward pass."
    figures.table(["operation", "kind", "estimate", "from"], rows, note)


def places(made: Compiled) -> None:
    """A table of the program's large arrays, of 100 kB or more, and the memory each lies in."""
    rows = []
    for row in made.padding:
        if row.padded_bytes >= 1e5:
            size = compiled(row.padded_bytes, "B", "libtpu")
            rows.append([row.name, f"{[*row.shape]}", size, row.memory])
    figures.table(["array", "shape", "bytes", "lies in"], rows)


def chips(keys: Sequence[str]) -> None:
    """A table of chips: peak in 16-bit floats, area, power, and the peak for each of these."""
    rows = []
    for key in keys:
        chip = machine(key)
        peak = chip.peak.get("bf16") or chip.peak["fp16"]
        tera = float(peak) / 1e12
        for_area = predicted(tera / float(chip.die), "TFLOP/s/mm²", "peak over area")
        for_watt = predicted(tera / float(chip.power), "TFLOP/s/W", "peak over power")
        rows.append([chip.name, peak, chip.die, chip.power, for_area, for_watt])
    heads = ["chip", "peak", "die", "power", "for each mm²", "for each W"]
    figures.table(heads, rows, CAUTIONS)


def work_for_each_joule() -> None:
    """A table of MLPerf's benchmarks on a TPU v4 and an A100, as Google published them."""
    rows = []
    for pair in MLPERF:
        row = [pair.benchmark, pair.speed_ratio, pair.watts_v4, pair.watts_a100, pair.work_ratio]
        rows.append(row)
    heads = ["v4 against A100", "speed, times", "W of a v4", "W of an A100", "work for each J"]
    figures.table(
        heads,
        rows,
        f"Speed and power published in {MLPERF_SOURCE}: 64 chips of each kind, measured by Google.",
    )
