"""What the compiler says of a program, shown as tables. Lesson what a training step costs."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from labkit import figures
from labkit.convnet import layer_costs
from labkit.hardware import machine
from labkit.provenance import Quantity, compiled, counted, predicted
from labkit.tpu.compiler import Compiled, TPUOutOfMemory, recall
from labkit.tpu.published import MLPERF, MLPERF_SOURCE, V5E_LINKS

CAUTIONS = (
    "Google gives the area of a TPU's die as an upper limit, so the true density may be higher. "
    "For v3 and v4, power is the highest that Google saw in use; for the others, it is the design "
    "limit. By its own design limit of 450 W (published in Ten Lessons, table 1), a v3 has a third "
    "less peak for each watt than a V100, not a tenth more. A V100's peak is in fp16, the others' "
    "in bfloat16. Of v5e, v5p and v6e Google publishes neither area nor power. We read the tables "
    "of the papers by Jouppi et al. in summaries. The addresses of all sources stand in "
    "labkit/hardware.toml."
)

LINKS = 4  # of a v5e chip, in two dimensions
LINKS_OF_A_RING = 2
CYCLES = 14.5  # what libtpu charges a v5e for 1,024 numbers that are read and added up, about

MEANING = {  # of names that only the compiler uses
    "copy-start": "copies",
    "slice-start": "copies of a part",
    "select-and-scatter": "the backward pass of a pool",
}


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
        without = ", ".join(sorted({op.kind for op in made.ops if op.cycles is None}))
        cycles = compiled(made.estimated_cycles, "cycles", "libtpu")
        rows.append([name, known, cycles, without or None])
    heads = ["program", "operations with their cycles", "sum", "without an estimate"]
    note = (
        "The last operation of a program also writes its result to HBM, which seems to be charged."
    )
    figures.table(heads, rows, note)


def missing(made: Compiled) -> str:
    """How many of the program's operations have no estimate: "4 of 672"."""
    return f"{made.unestimated:,} of {sum(op.count for op in made.ops):,}"


def operations(made: Compiled, most: int = 10) -> None:
    """A table of the operations with an estimate, at most so many, the longest first."""
    known = [op for op in made.ops if op.cycles is not None]
    known.sort(key=lambda op: -op.cycles)
    rows = []
    for op in known[:most]:
        rows.append([op.name, op.kind, compiled(op.cycles, "cycles", "libtpu"), op.layer or None])
    note = f"All {len(known)} operations with an estimate have {made.estimated_cycles:,} cycles; "
    note += "each includes what was fused into it."
    if made.unestimated:
        note += f" {missing(made)} have none: {_without(made)}."
    if any(op.layer.startswith("transpose(jvp(") for op in known):
        note += " Here jvp(conv1) is conv1's forward pass, transpose(jvp(conv1)) its backward pass."
        note += f" If the pools' backward passes were charged like sums, {CYCLES} cycles for each "
        note += f"1,024 numbers that they write, they would add {100 * _of_pools(made):.0f} % "
        note += "(predicted)."
    figures.table(["operation", "kind", "estimate", "from"], rows, note)


def _of_pools(made: Compiled) -> float:
    """The cycles of the pools' backward passes at CYCLES for 1,024 numbers, over all estimated."""
    pools = [op.layer for op in made.ops if op.kind == "select-and-scatter"]
    numbers = sum(prod(row.shape) for row in made.padding if row.name in pools)
    return CYCLES * numbers / 1024 / made.estimated_cycles


def _without(made: Compiled) -> str:
    """The operations without an estimate, by kind: "2 copy-start (copies), 1 scatter"."""
    numbers = Counter()
    for op in made.ops:
        if op.cycles is None:
            numbers[op.kind] += op.count
    named = []
    for kind, number in sorted(numbers.items()):
        meaning = f" ({MEANING[kind]})" if kind in MEANING else ""
        named.append(f"{number} {kind}{meaning}")
    return ", ".join(named)


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
    note = "Among the temporary arrays are the results that layers keep for the backward pass. A "
    note += "compiler that is short of memory can compute some of them again: whether it has done "
    note += "so, we do not know."
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
        "In a ring of n chips, each sends (n - 1)/n of the array to build the sums, and as much to "
    )
    note += f"pass them on. A v5e has four links, together {V5E_LINKS.number} in both directions "
    note += f"({V5E_LINKS.origin}); the ring uses two of them."
    figures.table(heads, rows, note)


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
        peak, die, power = map(_without_address, (peak, chip.die, chip.power))
        for_area = predicted(tera / float(chip.die), "TFLOP/s/mm²", "peak over area")
        for_watt = predicted(tera / float(chip.power), "TFLOP/s/W", "peak over power")
        rows.append([chip.name, peak, die, power, for_area, for_watt])
    heads = ["chip", "peak", "die", "power", "for each mm²", "for each W"]
    figures.table(heads, rows, CAUTIONS)


def _without_address(given: Quantity) -> Quantity:
    """The same quantity, with its source's title alone."""
    return replace(given, source=given.source.partition(", http")[0])


def work_for_each_joule() -> None:
    """A table of MLPerf's benchmarks on a TPU v4 and an A100, as Google published them."""
    rows = []
    for pair in MLPERF:
        row = [pair.benchmark, pair.speed_ratio, pair.watts_v4, pair.watts_a100, pair.work_ratio]
        rows.append(row)
    heads = ["v4 speed / A100 speed", "ratio", "W of a v4", "W of an A100", "work for each J"]
    note = f"Speed and power published in {MLPERF_SOURCE}: 64 chips of each kind, measured by "
    note += "Google. A v4 drew more here than the 192 W of the table above; we do not know why."
    figures.table(heads, rows, note)
