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
OPERAND_BYTES = 3 * 4  # of registers that a multiply-add reads


def reads_per_element(profile: Profile, *arrays: np.ndarray) -> Quantity:
    """How often the lanes of a launch read each element of these arrays, on average, if they read
    no others.
    (Lesson tiles.)
    """
    size = sum(array.nbytes for array in arrays)
    return counted(profile.counters["global_load_bytes"] / size, "times", BY)


def asked(profile: Profile) -> list[Quantity]:
    """Bytes that the lanes of a launch read from global memory, shared memory and registers, and
    the FLOP for each byte asked of global memory. Of registers the three operands of each
    multiply-add are counted.
    (Lesson tiles.)
    """
    counters = profile.counters
    flops = counters["flops"]
    from_global = counters["global_load_bytes"]
    from_registers = OPERAND_BYTES * flops / 2
    return [
        counted(from_global, "B", BY),
        counted(counters["shared_load_bytes"], "B", BY),
        counted(from_registers, "B", BY),
        counted(flops / from_global, "FLOP/B", BY),
    ]


def speeds(machine: Machine) -> tuple[list[list], str]:
    """A table of global memory, shared memory and registers, and a note below it: each with who
    shares it, and its B/s, in a GPU whose multiprocessors have 128 lanes for float32. Global
    memory's is published; the peak tells the clocks in a second, and so the other two.
    (Lesson tiles.)
    """
    multiply_adds = float(machine.peak["fp32"]) / 2  # of lanes, in a second
    clocks = multiply_adds / LANES  # of all multiprocessors
    peak = f"the peak of {machine.peak['fp32'].number}"
    rows = [
        ["global", "all threads", machine.bandwidth],
        ["shared", "a block", predicted(clocks * PASS_BYTES, "B/s", peak)],
        ["registers", "a thread", predicted(multiply_adds * OPERAND_BYTES, "B/s", peak)],
    ]
    note = (
        f"The peak tells the clocks in a second, since each of an SM's {LANES} lanes can start one "
        "multiply-add (2 FLOP) in a clock. In that clock the lanes read "
        f"{LANES * OPERAND_BYTES // 4} numbers from registers, and a pass moves "
        f"{PASS_BYTES // 4} from shared memory."
    )
    return rows, note
