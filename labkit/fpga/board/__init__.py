"""A virtual Pynq board: the unmodified `pynq` package drives the learner's own module."""

from labkit.fpga.board.board import VirtualBoard
from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError

__all__ = ["BoardError", "Design", "VirtualBoard"]
