"""The FPGA room: from int8 arithmetic to gates, and a board that the `pynq` package drives.

Each of these functions lives in a module of its own name. They are imported here, so that the name
means the function, whoever imports the module first; none of them loads a tool before it is called.
"""

from labkit.fpga.board import VirtualBoard
from labkit.fpga.prove import prove
from labkit.fpga.quantize import quantize
from labkit.fpga.simulate import simulate
from labkit.fpga.synthesize import synthesize
from labkit.fpga.timing import place_and_route

__all__ = ["VirtualBoard", "place_and_route", "prove", "quantize", "simulate", "synthesize"]
