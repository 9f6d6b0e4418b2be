"""The FPGA board: it has no roofline of its own, but the accelerator that chapter 3 built.

One image of the course's ConvNet takes the accelerator a number of clock cycles that the simulator
counts. At PYNQ's usual clock, 100 MHz, which no board of ours has run:

    seconds = cycles / clock
"""

from labkit.distributed.chooser.derivation import derive, number
from labkit.distributed.chooser.workload import Plan, Workload
from labkit.hardware import Machine

CYCLES = 73_778  # counted by CXXRTL and Verilator: lesson 5 of chapter 03
CLOCK = 100e6  # Hz, assumed
FORMAT = "int8"


def missing(workload: Workload, machine: Machine) -> str | None:
    """What of the task the accelerator of a board cannot do, in words; None for other machines."""
    if machine.kind != "fpga":
        return None
    if "backward" in workload.operators:
        return "its accelerator has no backward pass"
    if "attention" in workload.operators:
        return "its accelerator has no attention"
    if workload.number_format != FORMAT:
        return f"its accelerator computes in int8, not in {workload.number_format}"
    return None


def plan(workload: Workload, machine: Machine) -> Plan:
    """One image on one board, by counted cycles."""
    words = f"cycles, counted / an assumed {CLOCK / 1e6:g} MHz"
    seconds = derive("s", words, number(CYCLES) / number(CLOCK, "Hz"))
    return Plan(
        count=1,
        memory=workload.memory(1, machine),
        parts={"cycles": seconds},
        seconds=seconds,
        layout="the accelerator of chapter 3",
    )
