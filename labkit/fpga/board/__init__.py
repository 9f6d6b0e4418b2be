"""A virtual Pynq board: the unmodified `pynq` package drives the learner's own module.

Modules (written by tools/modules.py):

accelerator_registers  The accelerator's registers on a board, by name: the driver that pynq binds
                       to the accelerator.
bitstream              A `.bit` file for the virtual board: the standard header, and a payload that
                       names a design.
board                  `VirtualBoard`: a Pynq board that runs in this process, for the unmodified
                       `pynq` package.
command                `labkit board`: a virtual board in a process of its own, until it is stopped.
convnet_overlay        `ConvNetOverlay`: photographs through the accelerator on a board, real or
                       virtual.
design                 A design for the board: a module in SystemVerilog, and what the board puts
                       around it.
designs                Designs of the course for the board.
errors                 `BoardError`: what a board refuses, or where a real one would hang, in a
                       sentence.
files                  The board's files: a tree in memory.
hardware/              The board behind its services: bus, memory, DMA, pins and programmable logic.
hwh                    The `.hwh` file of a design: what pynq reads to know which IP is at which
                       address.
private                A board without a server: pynq's calls go straight to the machine, in the
                       thread that makes them.
pynq_package/          What the unmodified `pynq` needs of us: its notes, its age, its connections.
services/              PYNQ.remote's four services, and the gRPC server that offers them.
timeline               A picture of a board's traffic: which transfer ran when, and when registers
                       were accessed.
traffic                What went over a board's bus and streams: a list of events, the latest of
                       them only.
"""

from labkit.fpga.board.board import VirtualBoard
from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError

__all__ = ["BoardError", "Design", "VirtualBoard"]
