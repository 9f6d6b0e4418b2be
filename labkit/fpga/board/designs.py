"""Designs of the course for the board."""

from collections.abc import Mapping

from labkit.fpga.board.design import Design
from labkit.fpga.board.hardware.registers import Register
from labkit.fpga.convnet import accelerator
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes, refuse_lanes
from labkit.fpga.convnet.own_modules import blamed, with_own
from labkit.fpga.errors import RTLError
from labkit.fpga.library import library

_FIELDS = {
    "CONTROL": {"START": (0, 1), "RESET": (1, 1)},
    "STATUS": {name: (place, 1) for place, name in enumerate(accelerator.STATUS)},
}
_WRITTEN = ("CONTROL", "IMAGES")


def loopback() -> Design:
    """A queue of 16 words: what is sent comes back (rtl/loopback.sv)."""
    return Design(library("loopback"), "loopback")


def loopback_of_bytes() -> Design:
    """The same for words of a byte, with a DMA as Vivado makes it unless one asks for more."""
    source = library("loopback")
    return Design(source, "loopback", {"WIDTH": 8}, engine="cxxrtl", length_bits=14)


def brighten(own: str | None = None) -> Design:
    """Makes pixels brighter by its register AMOUNT (rtl/brighten_unit.sv).

    own   the text of a module `brighten` that stands in for the course's
    """
    source = library("brighten_unit", own={"brighten": own} if own else None)
    amount = Register("AMOUNT", 0x10, description="What is added to each pixel, 0 to 255")
    return Design(source, "brighten_unit", registers=[amount], engine="cxxrtl", length_bits=14)


def filter_3x3(height: int = 480, width: int = 640) -> Design:
    """A 3x3 filter for grey video (rtl/filter_3x3.sv), whose taps and shift are registers."""
    names = [*(f"TAP{tap}" for tap in range(9)), "SHIFT"]
    registers = [Register(name, 4 * place) for place, name in enumerate(names)]
    sizes = {"HEIGHT": height, "WIDTH": width}
    return Design(library("filter_3x3"), "filter_3x3", sizes, registers)


def convnet(
    folding: Folding | None = None,
    shapes: Shapes | None = None,
    own: Mapping[str, str] | None = None,
) -> Design:
    """The accelerator (rtl/accelerator.sv); raises ValueError as `Accelerator` does.

    own   modules of the learner's, name -> text, in their places: see
          `labkit.fpga.convnet.own_modules`. Then it is compiled here, and RTLError names the
          learner's module that a tool refuses.
    """
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
    parameters = folding.parameters | shapes.parameters
    source = with_own(own) if own else library(accelerator.TOP)
    design = Design(source, accelerator.TOP, parameters, registers)
    if own:
        _compile(design, own)
    return design


def _compile(design: Design, own: Mapping[str, str]) -> None:
    try:
        _ = design.model
    except RTLError as error:
        raise blamed(error, own) from None
