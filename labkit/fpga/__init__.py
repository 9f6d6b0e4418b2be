"""The FPGA room: from int8 arithmetic to gates, and a board that the `pynq` package drives.

Functions that are called as their modules are imported here, so that the name is the function's.
"""

from labkit.fpga.prove import prove
from labkit.fpga.synthesize import synthesize
from labkit.fpga.timing import place_and_route

__all__ = ["place_and_route", "prove", "synthesize"]
