"""What the host asks of the one device: streams, events, the device itself, and its context.

The host does one thing after the other, so streams keep order, and events read the host's clock.
"""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import NamedTuple

from numba_simt import errors
from numba_simt.execution.target import target
from numba_simt.launching.grids import BLOCK, GRID, SHARED, THREADS

RUNTIME = (13, 0)  # the CUDA whose names these are


def synchronize(*_: object) -> None:
    """Whatever was asked for is done: nothing is ever pending."""


class Stream:
    """Work in order; `handle` is the number that somebody else gave it, or 0."""

    handle = 0
    synchronize = synchronize
    __getattr__ = errors.lacking("A stream")

    def auto_synchronize(self) -> nullcontext:
        """A `with` block at whose end the work in it is done."""
        return nullcontext(self)

    def add_callback(self, callback: Callable, arg: object = None) -> None:
        """Calls callback(stream, status, arg), at once: the work before it is done."""
        callback(self, 0, arg)

    async def async_done(self) -> "Stream":
        """Waits for the work before it, which is done."""
        return self


class Event:
    """A moment on the host's clock."""

    synchronize = synchronize
    wait = synchronize
    __getattr__ = errors.lacking("An event")

    def __init__(self, timing: bool = True) -> None:
        self.timing = timing
        self.moment: float | None = None  # seconds

    def record(self, stream: object = 0) -> None:
        """It happens now."""
        self.moment = time.perf_counter()

    def query(self) -> bool:
        """Whether the work before it is done, as it always is."""
        return True

    def elapsed_time(self, evtend: "Event") -> float:
        """Milliseconds from this event to a later one."""
        if not (self.timing and self.moment and evtend.timing and evtend.moment):
            raise errors.UsageError("elapsed_time needs two recorded events, both with timing.")
        return 1e3 * (evtend.moment - self.moment)


class MemoryInfo(NamedTuple):
    """Bytes of this computer's memory."""

    free: int
    total: int


class Device(nullcontext):
    """The one device, and its context: this computer, as a GPU with one multiprocessor."""

    id = 0
    name = "SIMT machine"
    uuid = "SIMT-0"
    supports_float16 = True
    supports_bfloat16 = False
    supports_fp8 = False
    WARP_SIZE = 32
    MULTIPROCESSOR_COUNT = 1
    MAX_THREADS_PER_BLOCK = THREADS
    MAX_THREADS_PER_MULTIPROCESSOR = THREADS
    MAX_SHARED_MEMORY_PER_BLOCK = MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = SHARED
    MAX_REGISTERS_PER_BLOCK = MAX_REGISTERS_PER_MULTIPROCESSOR = 65536
    TOTAL_CONSTANT_MEMORY = 65536
    CAN_MAP_HOST_MEMORY = UNIFIED_ADDRESSING = MANAGED_MEMORY = 1
    CONCURRENT_KERNELS = ASYNC_ENGINE_COUNT = 0  # one thing after the other
    PCI_DOMAIN_ID = PCI_BUS_ID = PCI_DEVICE_ID = 0
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = BLOCK
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = GRID
    synchronize = synchronize
    reset = synchronize
    __getattr__ = errors.lacking("The device")

    def __init__(self) -> None:
        super().__init__(self)
        self.device = self._device = self
        self.deallocations = Deallocations()

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Of the GPU that launches stand for: see execution/target.py."""
        return target().compute_capability

    COMPUTE_CAPABILITY = compute_capability
    COMPUTE_CAPABILITY_MAJOR = property(lambda self: self.compute_capability[0])
    COMPUTE_CAPABILITY_MINOR = property(lambda self: self.compute_capability[1])

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name}'>"

    def get_memory_info(self) -> MemoryInfo:
        """Bytes of this computer's memory."""
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
        free = total  # macOS does not say what is free
        if "SC_AVPHYS_PAGES" in os.sysconf_names:
            free = page * os.sysconf("SC_AVPHYS_PAGES")
        return MemoryInfo(free, total)


class Deallocations:
    """What is to be freed later: nothing, Python frees at once what nobody uses."""

    clear = synchronize

    def disable(self) -> nullcontext:
        """A `with` block in which nothing is freed."""
        return nullcontext()

    def __len__(self) -> int:
        return 0


class Devices(tuple):
    """The devices of this computer."""

    @property
    def current(self) -> Device:
        """The one that kernels run on."""
        return self[0]

    @property
    def lst(self) -> list[Device]:
        """All of them."""
        return list(self)


gpus = Devices([Device()])


def list_devices() -> Devices:
    """All devices: one."""
    return gpus


class Runtime:
    """cuda.runtime: there is none, so it is the newest that the names here are from."""

    __getattr__ = errors.lacking("cuda.runtime")

    def get_version(self) -> tuple[int, int]:
        """RUNTIME"""
        return RUNTIME

    def is_supported_version(self) -> bool:
        """It is."""
        return True

    supported_versions = (RUNTIME,)


def current_context(devnum: int | None = 0) -> Device:
    """The context of device 0; IndexError for any other."""
    return gpus[devnum or 0]


get_current_device = current_context
select_device = current_context


def detect() -> bool:
    """Prints what there is; whether kernels can run."""
    major, minor = target().compute_capability
    what = f"SIMT machine, compute capability {major}.{minor} [no GPU: simulated]"
    print(f"Found 1 CUDA devices\nid 0: {what}")
    return True


def is_available() -> bool:
    """Kernels can run."""
    return True


is_supported_version = is_available
is_float16_supported = is_available


def is_bfloat16_supported() -> bool:
    """Neither bfloat16 nor fp8: NumPy has no such numbers."""
    return False


is_fp8_supported = is_bfloat16_supported
