"""The driver of AXI ports, as Python sees it: structures and functions of driver/axi.h."""

import ctypes
from ctypes import POINTER, Structure, byref, c_int, c_int64, c_uint8, c_uint32, c_uint64, c_void_p
from functools import cache
from pathlib import Path

import numpy as np

from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Ports
from labkit.fpga.toolchain.cpp import DRIVER, compile_cpp, driver_text, kept
from labkit.fpga.toolchain.models import Table

ENDINGS = ("advanced", "packet out", "quiet", "unsettled")
LITE = {  # the channels of AXI4-Lite: what their ports begin with, and what they carry
    "write_address": ("aw", "addr"),
    "write_data": ("w", "data"),
    "write_answer": ("b", "resp"),
    "read_address": ("ar", "addr"),
    "read_data": ("r", "data"),
}


class Channel(Structure):
    _fields_ = [(name, c_int) for name in ("valid", "ready", "data", "last")]


class AxiPorts(Structure):
    _fields_ = [(name, c_int) for name in ("clock", "reset", "reset_level")]
    _fields_ += [(name, Channel) for name in LITE]
    _fields_ += [(name, c_int) for name in ("write_bytes", "write_response", "read_response")]
    _fields_ += [("stream_in", Channel), ("stream_out", Channel)]
    _fields_ += [(name, c_int) for name in ("bytes_in", "bytes_out")]


class Stalls(Structure):
    _fields_ = [("pattern", c_void_p), ("length", c_int64)]


class Pace(Structure):
    _fields_ = [(name, c_int64) for name in ("address", "data", "answer")]


class State(Structure):
    _fields_ = [(name, c_int64) for name in ("cycle", "sent", "queued", "received")]
    _fields_ += [(name, c_int64) for name in ("last_sent", "last_received", "last_access")]
    _fields_ += [("violations", c_int64)]
    _fields_ += [(name, c_int) for name in ("in_valid", "in_ready", "out_valid", "out_ready")]


def lite_ports(channel: str) -> list[str]:
    """The ports of a channel of AXI4-Lite, a key of LITE: its valid, its ready, its data."""
    name, data = LITE[channel]
    return [f"s_axi_{name}{end}" for end in ("valid", "ready", data)]


def axi_ports(
    ports: Ports,
    clock: str = "aclk",
    reset: str = "aresetn",
    reset_level: int = 0,
    streams: tuple[str, str] = ("s_axis_t", "m_axis_t"),
) -> AxiPorts:
    """Which of a module's ports are which of AXI's, by their standard names or by others.

    streams   what the ports of the stream in and of the stream out begin with
    """
    taken, given = streams

    def lite(channel: str) -> Channel:
        return Channel(*map(ports.index, lite_ports(channel)), -1)

    def stream(name: str) -> Channel:
        ends = ("valid", "ready", "data", "last")
        return Channel(*(ports.index(f"{name}{end}") for end in ends))

    return AxiPorts(
        clock=ports.index(clock),
        reset=ports.index(reset),
        reset_level=reset_level,
        **{channel: lite(channel) for channel in LITE},
        write_bytes=ports.index("s_axi_wstrb"),
        write_response=ports.index("s_axi_bresp"),
        read_response=ports.index("s_axi_rresp"),
        stream_in=stream(taken),
        stream_out=stream(given),
        bytes_in=ports.index(f"{taken}keep"),
        bytes_out=ports.index(f"{given}keep"),
    )


class AxiRun:
    """A design that has been reset, and its ports; `with AxiRun(...) as run` frees it."""

    def __init__(self, table: "ctypes._Pointer[Table]", ports: Ports) -> None:
        self._driver = _driver()
        self._alive = self._driver.axi_new(table, byref(axi_ports(ports)))

    def __enter__(self) -> "AxiRun":
        return self

    def __exit__(self, *error: object) -> None:
        self.free()

    def free(self) -> None:
        """Ends the run: whatever is asked of it afterwards raises RTLError."""
        if self._alive:
            self._driver.axi_free(self._alive)
        self._alive = None

    @property
    def _run(self) -> int:
        """The driver's run; raises RTLError when it has ended."""
        if self._alive is None:
            raise RTLError("This run has ended: use the circuit within its `with` block.")
        return self._alive

    def write(self, address: int, value: int, byte_enables: int, limit: int) -> int:
        """AXI's response to a write; -1: none came in `limit` cycles, -2: a loop of logic."""
        return self._driver.axi_write(self._run, address, value, byte_enables, limit)

    def read(self, address: int, limit: int) -> tuple[int, int]:
        """AXI's response to a read, and the value."""
        value = c_uint32()
        response = self._driver.axi_read(self._run, address, byref(value), limit)
        return response, value.value

    def send(self, words: np.ndarray, lasts: np.ndarray) -> None:
        """Queues words (uint64) with the `last` of each."""
        words = np.ascontiguousarray(words, np.uint64)
        lasts = np.ascontiguousarray(lasts, np.uint8)
        self._driver.axi_send(
            self._run,
            words.ctypes.data,
            lasts.ctypes.data,
            len(words),
        )

    def drop(self) -> None:
        """Forgets the words that were not taken yet."""
        self._driver.axi_drop(self._run)

    def stall(self, stream_in: np.ndarray, stream_out: np.ndarray) -> None:
        """Patterns of 0 and 1 that withhold a word, or the ready."""
        rows = [np.ascontiguousarray(row, np.uint8) for row in (stream_in, stream_out)]
        patterns = [Stalls(row.ctypes.data, len(row)) for row in rows]
        self._driver.axi_stall(self._run, *map(byref, patterns))

    def pace(self, address: int = 0, data: int = 0, answer: int = 0) -> None:
        """How many cycles late the sides of each access of a register are."""
        self._driver.axi_pace(self._run, byref(Pace(address, data, answer)))

    def advance(self, cycles: int, quiet: int) -> str:
        """Clocks the design, and says why it stopped: one of `ENDINGS`."""
        return ENDINGS[self._driver.axi_advance(self._run, cycles, quiet)]

    def state(self) -> State:
        """What has moved, and what waits."""
        state = State()
        self._driver.axi_state(self._run, byref(state))
        return state

    def received(self) -> tuple[np.ndarray, np.ndarray]:
        """All words that came out so far (uint64), and the `last` of each (uint8)."""
        words, lasts = POINTER(c_uint64)(), POINTER(c_uint8)()
        self._driver.axi_received(self._run, byref(words), byref(lasts))
        count = self.state().received
        if not count:
            return np.zeros(0, np.uint64), np.zeros(0, np.uint8)
        return (
            np.ctypeslib.as_array(words, (count,)).copy(),
            np.ctypeslib.as_array(lasts, (count,)).copy(),
        )


@cache
def _driver() -> ctypes.CDLL:
    library = ctypes.CDLL(str(kept("axi.so", driver_text(), _compile)))
    library.axi_new.restype = c_void_p
    library.axi_free.argtypes = [c_void_p]
    library.axi_write.argtypes = [c_void_p, c_uint32, c_uint32, c_uint32, c_int64]
    library.axi_read.argtypes = [c_void_p, c_uint32, POINTER(c_uint32), c_int64]
    library.axi_advance.argtypes = [c_void_p, c_int64, c_int64]
    library.axi_send.argtypes = [c_void_p, c_void_p, c_void_p, c_int64]
    library.axi_drop.argtypes = [c_void_p]
    library.axi_stall.argtypes = [c_void_p, POINTER(Stalls), POINTER(Stalls)]
    library.axi_pace.argtypes = [c_void_p, POINTER(Pace)]
    library.axi_state.argtypes = [c_void_p, POINTER(State)]
    library.axi_received.argtypes = [c_void_p, c_void_p, c_void_p]
    return library


def _compile(path: Path) -> None:
    compile_cpp(["-O2", "-shared", "-s", "-o", path, DRIVER / "axi.cpp"], DRIVER)
