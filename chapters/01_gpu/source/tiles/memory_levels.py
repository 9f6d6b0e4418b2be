"""The three memories of a kernel: how fast each is, and how often a launch reads from it."""

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
LANES_OF_A_WARP = 32


def reads_per_element(profile: Profile, *arrays: np.ndarray) -> Quantity:
    """How often the lanes of a launch read each element of these arrays, on average, if they read
    no others.
    (Lesson tiles.)
    """
    size = sum(array.nbytes for array in arrays)
    return counted(profile.counters["global_load_bytes"] / size, "times", BY)


def passes_per_multiply_add(profile: Profile) -> Quantity:
    """Passes of shared memory that a launch's reads take, for each multiply-add of a whole warp.
    (Lesson tiles.)
    """
    counters = profile.counters
    multiply_adds = counters["flops"] / 2 / LANES_OF_A_WARP
    return counted(counters["shared_load_transactions"] / multiply_adds, "passes", BY)


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
    note = (
        f"{machine.peak['fp32'].number} / 2 FLOP / {LANES} lanes = {clocks / 1e9:.0f} G clocks per "
        f"second, of all SMs together. In a clock, shared memory brings an SM {PASS_BYTES // 4} "
        f"numbers (a pass), and registers bring it {LANES} x {OPERANDS}: each lane reads two "
        "factors and a sum. A number has 4 B."
    )
    return rows, note
