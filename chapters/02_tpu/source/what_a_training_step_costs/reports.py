"""What the compiler says of a program, shown as tables. Lesson what a training step costs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from labkit import figures
from labkit.convnet import layer_costs
from labkit.hardware import machine
from labkit.provenance import Quantity, compiled, counted, predicted
from labkit.tpu.compiler import Compiled, TPUOutOfMemory, recall
from labkit_lessons.tpu.what_a_training_step_costs.published import (
    DAWNBENCH,
    MLPERF,
    MLPERF_SOURCE,
    V5E_LINKS,
)

CAUTIONS = (
    "Google gives a TPU's area as an upper limit, so the true density may be higher. "
    "The V100's peak is in fp16, the others' in bfloat16. Of the papers by Jouppi et al. we read "
    "only summaries. The file labkit/hardware.toml has the addresses of all sources."
)

LINKS = 4  # of a v5e chip, in two dimensions
LINKS_OF_A_RING = 2


def cycles_of(made: Compiled) -> np.ndarray:
    """Cycles [n] of the operations that have an estimate, in the order in which they run."""
    return np.array([op.cycles for op in made.ops if op.cycles is not None])


def share_of_cycles(made: Compiled, *kinds: str) -> Quantity:
    """What share of a program's estimated cycles operations of these kinds have, in %."""
    cycles = [op.cycles for op in made.ops if op.cycles is not None and op.kind in kinds]
    return compiled(100 * sum(cycles) / made.estimated_cycles, "%", "libtpu")


def products_of_flop(images: int) -> Quantity:
    """What share of the FLOP of a step of the course's network are products, in %."""
    flops = {cost.name: float(cost.flops) for cost in layer_costs(images)}
    products = flops["conv1"] + flops["conv2"] + flops["fc1"] + flops["fc2"]
    return counted(100 * products / sum(flops.values()), "%", "labkit.costs")


def side_by_side(programs: Mapping[str, Compiled]) -> None:
    """A table of programs: their operations, in the order in which they run, and their cycles."""
    rows = []
    for name, made in programs.items():
        known = ", ".join(f"{op.kind} {op.cycles:,}" for op in made.ops if op.cycles is not None)
        rows.append([name, known, compiled(made.estimated_cycles, "cycles", "libtpu")])
    heads = ["program", "operations with their cycles", "sum"]
    note = (
        "Copies from HBM have no estimate. The last operation of each program also writes the "
        "result to HBM, and its cycles seem to include that: so conv alone takes more than the "
        "same convolution in apart."
    )
    figures.table(heads, rows, note)


def missing(made: Compiled) -> str:
    """How many of the program's operations have no estimate: "4 of 672"."""
    return f"{made.unestimated:,} of {sum(op.count for op in made.ops):,}"


def beside_the_logs(tried: Mapping[str, Quantity], made: Compiled) -> None:
    """A table of the published logs of ResNet-50, then of speeds that were tried for them.

    Each with how far it is off the logs, in %; `made` is the program that one of them comes from.
    """
    rows = [[log.software, log.speed, None, None] for log in DAWNBENCH]
    for name, speed in tried.items():
        off = [f"{100 * (float(speed) / float(log.speed) - 1):+.0f}" for log in DAWNBENCH]
        rows.append([name, speed, *off])
    heads = ["ResNet-50 on four v2 chips", "speed", "off the first, %", "off the second, %"]
    note = f"Of our program's operations, {missing(made)} have no estimate."
    figures.table(heads, rows, note)


def left_out(made: Compiled) -> str:
    """What the shares of a step's cycles do not tell, as a note below their table."""
    return (
        f"Of the {sum(op.count for op in made.ops)} operations, {made.unestimated} have no "
        "estimate: among them are copies, and the backward pass of the pools. Each operation "
        "includes what was fused into it."
    )


def memory(name: str, batches: Sequence[int], topology: str) -> None:
    """A table of a stored program's memory for each batch, and whether it fits.

    `name` has a place for the batch: "ResNet-50 step of {} images".
    """
    rows = []
    for batch in batches:
        try:
            made = recall(name.format(batch), topology)
        except TPUOutOfMemory as error:
            need, have = re.search(r"needs (\S+ \wiB) .* has (\S+ \wiB)", str(error)).groups()
            row = [None, None, f"no: it needs {need}, and there are {have}"]
        else:
            given, temporary = (made.memory[part] / 2**30 for part in ("argument", "temp"))
            row = [compiled(size, "GiB", "libtpu") for size in (given, temporary)]
            row.append("yes")
        rows.append([f"{batch:,} images", *row])
    note = (
        "Among the temporary arrays are the results that layers keep for the backward pass. When "
    )
    note += "memory is short, the compiler can compute some of them again instead of keeping them."
    heads = [f"on {topology}", "arguments", "temporary arrays", "does it fit?"]
    figures.table(heads, rows, note)


def exchange(made: Compiled) -> None:
    """A table of what the chips of a v5e send each other: arrays, bytes and the least time.

    In a ring of n chips, each sends 2 (n - 1) / n of the array that all of them add up. The ring
    uses two of a chip's four links, each in both directions.
    """
    one_direction = float(V5E_LINKS) / 2
    sending = one_direction * LINKS_OF_A_RING / LINKS
    rows = []
    for sent in made.collectives:
        of_array = 2 * (sent.group - 1) / sent.group
        each = predicted(of_array * sent.bytes, "B", "a ring of the chips")
        least = predicted(float(each) / sending, "s", "bytes over published links")
        array = compiled(sent.bytes, "B", "libtpu")
        rows.append([sent.kind, sent.shape, array, sent.group, each, least])
    heads = ["operation", "array", "its bytes", "chips", "each sends", "at least"]
    note = (
        "At least: in a ring of n chips, each sends 2 (n - 1)/n of the array, here over two links "
        f"of {sending / LINKS_OF_A_RING / 1e9:.0f} GB/s each: a v5e's four links move "
        f"{V5E_LINKS.number} if both directions are counted ({V5E_LINKS.origin})."
    )
    figures.table(heads, rows, note)


def chips(keys: Sequence[str]) -> None:
    """A table of chips: peak in 16-bit floats, area of the die, and peak for each mm²."""
    rows = []
    for key in keys:
        chip = machine(key)
        peak = chip.peak.get("bf16") or chip.peak["fp16"]
        density = predicted(float(peak) / 1e12 / float(chip.die), "TFLOP/s/mm²", "peak over area")
        rows.append([chip.name, _without_address(peak), _without_address(chip.die), density])
    figures.table(["chip", "peak", "area", "for each mm²"], rows, CAUTIONS)


def _without_address(given: Quantity) -> Quantity:
    """The same quantity, with its source's title alone."""
    return replace(given, source=given.source.partition(", http")[0])


def work_for_each_joule() -> None:
    """A table of MLPerf's benchmarks on a TPU v4 and an A100, as Google published them."""
    rows = []
    for pair in MLPERF:
        row = [pair.benchmark, pair.speed_ratio, pair.watts_v4, pair.watts_a100, pair.work_ratio]
        rows.append(row)
    heads = ["benchmark", "v4 speed / A100 speed", "W of a v4", "W of an A100", "work for each J"]
    note = (
        f"Speed and power published in {MLPERF_SOURCE}: 64 chips of each kind, measured by Google."
    )
    figures.table(heads, rows, note)
