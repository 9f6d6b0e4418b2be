"""`labkit board`: a virtual board in a process of its own, until it is stopped.

It listens at a socket file of this user alone. At an address such as 127.0.0.1, every user of this
computer can read and change it: pynq sends no secret that could be asked for.
The names of buffers cannot be guessed, but whoever programs a DMA reaches them by their addresses;
registers, designs and files are open to every caller. Who fills the memory for buffers leaves none
to the others until the board is started anew: nobody has a share of his own. services/slow_calls.py
says how far slow clients can disturb the others.
"""

import signal
import time
from types import FrameType

from labkit.fpga.board import designs
from labkit.fpga.board.board import DEVICES, VirtualBoard
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.pynq_package import compatibility
from labkit.fpga.board.services.server import is_open
from labkit.fpga.errors import RTLError

OPEN = "Every user of this computer can read, change and fill this board."
DESIGNS = {
    "loopback": designs.loopback,
    "filter_3x3": designs.filter_3x3,
    "convnet": designs.convnet,
}


def serve(names: list[str], address: str | None) -> int:
    """Runs a board with these designs, or with all; says how to reach it; ends with Ctrl-C.

    Raises ValueError for an unknown design, and where the board cannot be started.
    """
    unknown = [name for name in names if name not in DESIGNS]
    if unknown:
        raise ValueError(f"There is no design {unknown[0]!r}; there are {', '.join(DESIGNS)}.")
    chosen = names or list(DESIGNS)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with VirtualBoard(*(DESIGNS[name]() for name in chosen), address=address) as board:
            print(_how_to(board, chosen), flush=True)
            while True:  # a signal just before a wait without end would not wake it
                time.sleep(1)
    except (BoardError, RTLError) as error:
        raise ValueError(str(error)) from error
    return 0


def _how_to(board: VirtualBoard, names: list[str]) -> str:
    lines = [f"A virtual board is at {board.address}, port {board.port}. Ctrl-C stops it."]
    lines += [OPEN] * is_open(board.address)
    lines.append(f"In the program that uses it:  {DEVICES}={board.address}")
    module = compatibility.__name__
    lines.append(f"and behind its imports:  from {module} import mend; mend()")
    for name, path in zip(names, board.bitstreams, strict=True):
        lines.append(f"{name}:  Overlay({path!r})")
    return "\n".join(lines)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
