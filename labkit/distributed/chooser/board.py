"""The FPGA board: it has no roofline of its own, but the accelerator that chapter 3 built.

One image of the course's ConvNet takes the accelerator a number of clock cycles that the simulator
counts. At PYNQ's usual clock, 100 MHz, which no board of ours has run:

    seconds = cycles / clock
"""

from labkit.distributed.chooser.derivation import derive, number
from labkit.distributed.chooser.need import Need, Plan
from labkit.hardware import Machine

CYCLES = 73_778  # counted by CXXRTL and Verilator: lesson 5 of chapter 03
CLOCK = 100e6  # Hz, assumed
FORMAT = "int8"


def missing(need: Need, machine: Machine) -> str | None:
    """What of the task the accelerator of a board cannot do, in words; None for other machines."""
    if machine.kind != "fpga":
        return None
    if "backward" in need.operators:
        return "its accelerator has no backward pass"
    if "attention" in need.operators:
        return "its accelerator has no attention"
    if need.number_format != FORMAT:
        return f"its accelerator computes in int8, not in {need.number_format}"
    return None


def plan(need: Need, machine: Machine) -> Plan:
    """One image on one board, by counted cycles."""
    words = f"cycles, counted / an assumed {CLOCK / 1e6:g} MHz"
    seconds = derive("s", words, number(CYCLES) / number(CLOCK, "Hz"))
    return Plan(
        count=1,
        memory=need.memory(1, machine),
        parts={"cycles": seconds},
        seconds=seconds,
        layout="the accelerator of chapter 3",
    )
