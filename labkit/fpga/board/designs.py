"""Designs of the course for the board."""

from labkit.fpga import accelerator
from labkit.fpga.accelerator_parameters import Folding, Shapes, refuse_lanes
from labkit.fpga.board.design import Design
from labkit.fpga.board.registers import Register
from labkit.fpga.library import library

_FIELDS = {
    "CONTROL": {"START": (0, 1), "RESET": (1, 1)},
    "STATUS": {name: (place, 1) for place, name in enumerate(accelerator.STATUS)},
}
_WRITTEN = ("CONTROL", "IMAGES")


def loopback() -> Design:
    """A queue of 16 words: what is sent comes back (rtl/loopback.sv)."""
    return Design(library("loopback"), "loopback")


def convnet(folding: Folding | None = None, shapes: Shapes | None = None) -> Design:
    """The accelerator (rtl/accelerator.sv); raises ValueError as `Accelerator` does."""
    folding = folding or Folding()
    shapes = shapes or Shapes()
    refuse_lanes(folding, shapes)
    registers = [
        Register(
            name,
            offset,
            access="read-write" if name in _WRITTEN else "read-only",
            fields=_FIELDS.get(name, {}),
        )
        for name, offset in accelerator.REGISTERS.items()
    ]
    return Design(
        library(accelerator.TOP),
        accelerator.TOP,
        folding.parameters | shapes.parameters,
        registers,
    )
