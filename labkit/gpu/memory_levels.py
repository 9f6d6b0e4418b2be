"""The three memories of a kernel: how fast each is, and how many bytes a launch asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.provenance import Quantity, counted, predicted

if TYPE_CHECKING:
    import numpy as np

    from labkit.gpu.profiler import Profile
    from labkit.hardware import Machine

BY = "the SIMT machine"
PASS_BYTES = 32 * 4  # of shared memory in a clock: 32 banks of 4 B
LANES = 128  # of a multiprocessor that can do a float32 multiply-add in a clock (GA102)
OPERANDS = 3  # of registers that a multiply-add reads: two factors and the sum
OPERAND_BYTES = 4 * OPERANDS
LEVELS = [  # heads of the numbers that `asked` gives
    "kernel",
    "lanes ask of global",
    "of shared",
    "of registers",
]
LEVELS_NOTE = "From registers, each multiply-add reads two factors and the sum."


def reads_per_element(profile: Profile, *arrays: np.ndarray) -> Quantity:
    """How often the lanes of a launch read each element of these arrays, on average, if they read
    no others.
    (Lesson tiles.)
    """
    size = sum(array.nbytes for array in arrays)
    return counted(profile.counters["global_load_bytes"] / size, "times", BY)


def asked(profile: Profile) -> list[Quantity]:
    """Bytes that the lanes of a launch ask of global memory, shared memory and registers. Those
    of registers are predicted: three operands for each multiply-add that was counted.
    (Lesson tiles.)
    """
    counters = profile.counters
    flops = counters["flops"]
    from_global = counters["global_load_bytes"]
    from_registers = OPERAND_BYTES * flops / 2
    return [
        counted(from_global, "B", BY),
        counted(counters["shared_load_bytes"], "B", BY),
        predicted(from_registers, "B", f"{OPERANDS} operands of each multiply-add counted"),
    ]


def speeds(machine: Machine) -> tuple[list[list], str]:
    """A table of global memory, shared memory and registers, and a note below it: each with who
    shares it, and its B/s, in a GPU whose multiprocessors have 128 lanes for float32. Global
    memory's is published, that of its DRAM; the other two are the clocks of all SMs in a second,
    which follow from the peak, times what lanes can get in a clock.
    (Lesson tiles.)
    """
    multiply_adds = float(machine.peak["fp32"]) / 2  # of lanes, in a second
    clocks = multiply_adds / LANES  # of all multiprocessors
    peak = f"the peak of {machine.peak['fp32'].number}"
    rows = [
        ["global (DRAM)", "all threads", machine.bandwidth],
        ["shared", "a block", predicted(clocks * PASS_BYTES, "B/s", peak)],
        ["registers", "a thread", predicted(multiply_adds * OPERAND_BYTES, "B/s", peak)],
    ]
    pass_numbers = PASS_BYTES // 4
    operands = LANES * OPERANDS
    note = (
        f"A multiply-add is 2 FLOP, and an SM has {LANES} lanes: {machine.peak['fp32'].number} / 2 "
        f"/ {LANES} = {clocks / 1e9:.0f} G clocks per second, of all SMs together. "
        f"Shared memory: x {pass_numbers} numbers of a pass x 4 B. "
        f"Registers: x {operands} operands ({OPERANDS} for each lane) x 4 B."
    )
    return rows, note
