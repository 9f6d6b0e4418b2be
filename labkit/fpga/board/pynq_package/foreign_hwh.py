"""An `.hwh` that Vivado has written, and pynq 4.0.0: a defect of pynq's, named before it shows.

`Overlay` sets the clocks of the programmable logic to the rates in the `.hwh`. For every chip pynq
4.0.0 looks for them under the name that they have for a Zynq UltraScale+. For a Zynq-7000 Vivado
writes another one, so `Overlay` finds None, divides by it, and ends with a TypeError. Our own
`.hwh` have both names (`hwh.py`).

The client's last call before that reads a clock's register, and says nothing of the file. But where
the client is in the board's own process, its thread can be looked at while it waits for the answer.
A client of `labkit board` is in another one: it sees the TypeError, and has only this text.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from labkit.fpga.board.errors import BoardError

CURE = (
    "from pynqmetadata import ZynqProcSysCore\n"
    "ZynqProcSysCore.clk_freq_param_name = "
    'lambda self, clock: f"PCW_ACT_FPGA{clock}_PERIPHERAL_FREQMHZ"'
)
SENTENCE = (
    "pynq 4.0.0 cannot read the rate of clock {clock} in {file}, and would now end with a "
    "TypeError (float / NoneType). It looks for PSU__CRL_APB__PL{clock}_REF_CTRL__ACT_FREQMHZ, "
    "which Vivado writes for a Zynq UltraScale+; for a Zynq-7000 it writes "
    "PCW_ACT_FPGA{clock}_PERIPHERAL_FREQMHZ. The file is right, and pynq is wrong. Load a "
    "bitstream of the board's own (board.bitstream, or board.add(design)); or, before "
    "Overlay(...), correct the name:\n{cure}"
)


def refuse_clock_without_rate() -> None:
    """Raises BoardError when a thread of this process sets a clock to no rate at all."""
    for innermost in sys._current_frames().values():
        for frame in _outwards(innermost):
            if frame.f_globals.get("__name__") == "pynq.ps" and _has_no_rate(frame):
                clock = frame.f_locals["clk_idx"]
                file = _file(frame)
                raise BoardError(SENTENCE.format(clock=clock, file=file, cure=CURE))


def _has_no_rate(frame: FrameType) -> bool:
    """Whether it is a call of `set_pl_clk(clk_idx, div0, div1, clk_mhz)` with nothing to set."""
    if frame.f_code.co_name != "set_pl_clk":
        return False
    return all(frame.f_locals.get(name) is None for name in ("div0", "div1", "clk_mhz"))


def _file(frame: FrameType) -> str:
    """The `.hwh` of the overlay that is being loaded."""
    for outer in _outwards(frame):
        overlay = outer.f_locals.get("self")
        if hasattr(overlay, "bitfile_name"):
            return str(Path(overlay.bitfile_name).with_suffix(".hwh"))
    return "the .hwh"


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame:
        yield frame
        frame = frame.f_back
