"""A compiled design between two data movers, as Python sees it: driver/dma.h."""

import ctypes
from ctypes import POINTER, Structure, byref, c_int, c_int64, c_uint32, c_void_p
from functools import cache
from pathlib import Path

from labkit.fpga.board.hardware.wires import Wires
from labkit.fpga.toolchain.axi_driver import AxiPorts
from labkit.fpga.toolchain.cpp import DRIVER, compile_cpp, driver_text, kept
from labkit.fpga.toolchain.models import Model

ENDINGS = ("advanced", "ended", "quiet", "unsettled")
ANSWER_LIMIT = 1000  # cycles in which a register has to answer


class Transfer(Structure):
    """`DmaTransfer`: one direction."""

    _fields_ = [(name, c_int64) for name in ("length", "moved", "beats")]
    _fields_ += [(name, c_int) for name in ("running", "last", "excess", "valid", "ready")]


class DmaState(Structure):
    """What has moved since the transfers were started, and what waits now."""

    _fields_ = [(name, c_int64) for name in ("cycle", "idle", "violations")]
    _fields_ += [("send", Transfer), ("receive", Transfer)]


class DmaRun:
    """A design that has been reset, its registers, and a transfer in each direction."""

    def __init__(self, model: Model, wires: Wires) -> None:
        self._driver = _driver()
        words = (wires.in_bytes, wires.out_bytes)
        self._run = self._driver.dma_new(model.table, byref(wires.ports), *words)

    def free(self) -> None:
        """Ends the run; further calls are not allowed."""
        if self._run:
            self._driver.dma_free(self._run)
        self._run = None

    def write(self, address: int, value: int) -> int:
        """AXI's response to a write; -1: none came in time, -2: a loop of logic."""
        return self._driver.dma_write(self._run, address, value, ANSWER_LIMIT)

    def read(self, address: int) -> tuple[int, int]:
        """AXI's response to a read, and the value."""
        value = c_uint32()
        response = self._driver.dma_read(
            self._run,
            address,
            byref(value),
            ANSWER_LIMIT,
        )
        return response, value.value

    def send(self, memory: int, length: int) -> None:
        """Starts to send bytes from an address of this process, which has to stay valid."""
        self._driver.dma_send(self._run, memory, length)

    def receive(self, memory: int, length: int) -> None:
        """Starts to receive bytes to an address of this process, which has to stay valid."""
        self._driver.dma_receive(self._run, memory, length)

    def stop(self, sending: bool) -> None:
        """Ends the transfer of one direction where it is."""
        self._driver.dma_stop(self._run, sending)

    def advance(self, cycles: int, quiet: int) -> str:
        """Clocks the design, and says why it stopped: one of `ENDINGS`."""
        return ENDINGS[self._driver.dma_advance(self._run, cycles, quiet)]

    def state(self) -> DmaState:
        """What has moved, and what waits."""
        state = DmaState()
        self._driver.dma_state(self._run, byref(state))
        return state


@cache
def _driver() -> ctypes.CDLL:
    library = ctypes.CDLL(str(kept("dma.so", driver_text(), _compile)))
    library.dma_new.argtypes = [c_void_p, POINTER(AxiPorts), c_int, c_int]
    library.dma_new.restype = c_void_p
    library.dma_free.argtypes = [c_void_p]
    library.dma_write.argtypes = [c_void_p, c_uint32, c_uint32, c_int64]
    library.dma_read.argtypes = [c_void_p, c_uint32, POINTER(c_uint32), c_int64]
    library.dma_send.argtypes = [c_void_p, c_void_p, c_int64]
    library.dma_receive.argtypes = [c_void_p, c_void_p, c_int64]
    library.dma_stop.argtypes = [c_void_p, c_int]
    library.dma_advance.argtypes = [c_void_p, c_int64, c_int64]
    library.dma_state.argtypes = [c_void_p, POINTER(DmaState)]
    return library


def _compile(path: Path) -> None:
    compile_cpp(["-O2", "-shared", "-s", "-o", path, DRIVER / "dma.cpp"], DRIVER)
