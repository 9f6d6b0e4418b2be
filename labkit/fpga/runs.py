"""The driver of streams, as Python sees it: a job goes in, the run advances, results come out.

The structures mirror driver/streams.h. The driver is compiled once, for all designs.
"""

import ctypes
from ctypes import POINTER, Structure, byref, c_char_p, c_int, c_int64, c_void_p
from functools import cache
from pathlib import Path

import numpy as np

from labkit.fpga.cpp import DRIVER, compile_cpp, driver_text, kept
from labkit.fpga.models import Table

ENDINGS = ("going on", "finished", "at limit", "oscillates")
_SLICE = 1 << 20  # cycles between two looks at the keyboard's interrupt


class Stalls(Structure):
    _fields_ = [("pattern", c_void_p), ("length", c_int64)]


class Offered(Structure):
    _fields_ = [(name, c_int) for name in ("valid", "ready", "data", "last", "words")]
    _fields_ += [("values", c_void_p), ("lasts", c_void_p), ("count", c_int64), ("stalls", Stalls)]


class Taken(Structure):
    _fields_ = [(name, c_int) for name in ("valid", "ready", "data", "last", "words")]
    _fields_ += [("wanted", c_int64), ("stalls", Stalls)]


class Plain(Structure):
    _fields_ = [("port", c_int), ("words", c_int), ("values", c_void_p), ("count", c_int64)]


class Recorded(Structure):
    _fields_ = [("name", c_char_p), ("port", c_int), ("words", c_int)]


class Job(Structure):
    _fields_ = [("model", POINTER(Table)), ("clock", c_int), ("reset", c_int)]
    _fields_ += [(f"{kind}_count", c_int) for kind in ("offered", "taken", "plain", "recorded")]
    _fields_ += [("offered", POINTER(Offered)), ("taken", POINTER(Taken))]
    _fields_ += [("plain", POINTER(Plain)), ("recorded", POINTER(Recorded))]
    _fields_ += [(name, c_int64) for name in ("cycles", "at_least", "quiet", "limit", "rows")]
    _fields_ += [("again_after", c_int64)]


class OfferResult(Structure):
    _fields_ = [("count", c_int64), ("valid", c_int), ("ready", c_int)]


class TakeResult(Structure):
    _fields_ = [("count", c_int64), ("valid", c_int), ("ready", c_int)]
    _fields_ += [(name, c_void_p) for name in ("values", "times", "lasts")]


class Violation(Structure):
    _fields_ = [("cycle", c_int64), ("stream", c_int), ("kind", c_int)]


class Result(Structure):
    _fields_ = [(name, c_int64) for name in ("cycles", "last_moved", "violation_count")]
    _fields_ += [("violations", POINTER(Violation)), ("record", c_void_p)]


class Run:
    """One run of a design; `with Run(job) as run` frees it.

    The caller keeps alive what the job points to.
    """

    def __init__(self, job: Job) -> None:
        self._driver = _driver()
        self._run = self._driver.run_new(byref(job))

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *error: object) -> None:
        self._driver.run_free(self._run)

    def advance(self) -> str:
        """Clock the design to its end, and say how it ended: one of `ENDINGS`."""
        ending = 0
        while ending == 0:
            ending = self._driver.run_advance(self._run, _SLICE)
        return ENDINGS[ending]

    def result(self) -> Result:
        """Cycles, violations and the record so far."""
        return self._read(self._driver.run_result, Result())

    def offer(self, stream: int) -> OfferResult:
        """How far the stream into the design is."""
        return self._read(self._driver.run_offer, OfferResult(), stream)

    def take(self, stream: int) -> TakeResult:
        """What the stream out of the design has brought."""
        return self._read(self._driver.run_take, TakeResult(), stream)

    def _read(self, function: "ctypes._FuncPointer", result: Structure, *which: int) -> Structure:
        function(self._run, *which, byref(result))
        return result


def copied(address: int | None, dtype: type, *shape: int) -> np.ndarray:
    """An array of our own from the driver's memory."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    data = ctypes.string_at(address, size) if size else b""
    return np.frombuffer(data, dtype).reshape(shape)


def prepare() -> Path:
    """The driver's library, compiled if it is not there yet."""
    return kept("streams.so", driver_text(), _compile)


@cache
def _driver() -> ctypes.CDLL:
    library = ctypes.CDLL(str(prepare()))
    library.run_new.restype = c_void_p
    library.run_free.argtypes = [c_void_p]
    library.run_advance.argtypes = [c_void_p, c_int64]
    library.run_result.argtypes = [c_void_p, POINTER(Result)]
    library.run_offer.argtypes = [c_void_p, c_int, POINTER(OfferResult)]
    library.run_take.argtypes = [c_void_p, c_int, POINTER(TakeResult)]
    return library


def _compile(path: Path) -> None:
    compile_cpp(["-O2", "-shared", "-s", "-o", path, DRIVER / "streams.cpp"], DRIVER)
