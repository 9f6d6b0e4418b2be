"""What `numba.cuda` offers, on the SIMT machine: this module stands in for it without a GPU.

The host does one thing after the other, so streams keep order, and events read the host's clock.
What works inside kernels only is here by name, and refuses to work on the host.
"""

import os
import time
from collections.abc import Callable
from contextlib import nullcontext
from difflib import get_close_matches
from typing import NamedTuple, NoReturn

from numba_simt import errors
from numba_simt.execution.target import target
from numba_simt.in_kernel import InKernel
from numba_simt.launching.arrays import (  # noqa: F401
    as_cuda_array,
    device_array,
    device_array_like,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from numba_simt.launching.dispatcher import jit  # noqa: F401
from numba_simt.launching.grids import BLOCK, GRID, SHARED, THREADS

STANDS_FOR_NUMBA_CUDA = True  # inside a kernel this module is numba.cuda

threadIdx = InKernel("threadIdx")
blockIdx = InKernel("blockIdx")
blockDim = InKernel("blockDim")
gridDim = InKernel("gridDim")
grid = InKernel("grid")
gridsize = InKernel("gridsize")
laneid = InKernel("laneid")
warpsize = InKernel("warpsize")
shared = InKernel("shared")
local = InKernel("local")
const = InKernel("const")
atomic = InKernel("atomic")
fp16 = InKernel("fp16")
libdevice = InKernel("libdevice")
syncthreads = InKernel("syncthreads")
syncthreads_count = InKernel("syncthreads_count")
syncthreads_and = InKernel("syncthreads_and")
syncthreads_or = InKernel("syncthreads_or")
syncwarp = InKernel("syncwarp")
threadfence = InKernel("threadfence")
threadfence_block = InKernel("threadfence_block")
threadfence_system = InKernel("threadfence_system")
shfl_sync = InKernel("shfl_sync")
shfl_up_sync = InKernel("shfl_up_sync")
shfl_down_sync = InKernel("shfl_down_sync")
shfl_xor_sync = InKernel("shfl_xor_sync")
all_sync = InKernel("all_sync")
any_sync = InKernel("any_sync")
eq_sync = InKernel("eq_sync")
ballot_sync = InKernel("ballot_sync")
match_any_sync = InKernel("match_any_sync")
match_all_sync = InKernel("match_all_sync")
activemask = InKernel("activemask")
lanemask_lt = InKernel("lanemask_lt")
popc = InKernel("popc")
brev = InKernel("brev")
clz = InKernel("clz")
ffs = InKernel("ffs")
fma = InKernel("fma")
selp = InKernel("selp")
cbrt = InKernel("cbrt")
nanosleep = InKernel("nanosleep")


def __getattr__(name: str) -> NoReturn:
    near = get_close_matches(name, globals(), 1)
    hint = f"is it cuda.{near[0]}?" if near else "README.md of numba-simt says what it has."
    raise errors.Missing(f"The SIMT machine has no cuda.{name}: {hint}")


def synchronize(*_: object) -> None:
    """Whatever was asked for is done: nothing is ever pending."""


class Stream:
    """Work in order."""

    synchronize = synchronize
    __getattr__ = errors.lacking("A stream")

    def auto_synchronize(self) -> nullcontext:
        """A `with` block at whose end the work in it is done."""
        return nullcontext(self)

    def add_callback(self, callback: Callable, arg: object = None) -> None:
        """Calls callback(stream, status, arg), at once: the work before it is done."""
        callback(self, 0, arg)


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
    MAX_SHARED_MEMORY_PER_BLOCK = SHARED
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = BLOCK
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = GRID
    synchronize = synchronize
    reset = synchronize
    __getattr__ = errors.lacking("The device")

    def __init__(self) -> None:
        super().__init__(self)
        self.device = self

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Of the GPU that launches stand for: see execution/target.py."""
        return target().compute_capability

    def get_memory_info(self) -> MemoryInfo:
        """Bytes of this computer's memory."""
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
        free = total  # macOS does not say what is free
        if "SC_AVPHYS_PAGES" in os.sysconf_names:
            free = page * os.sysconf("SC_AVPHYS_PAGES")
        return MemoryInfo(free, total)


class Devices(tuple):
    """The devices of this computer."""

    @property
    def current(self) -> Device:
        """The one that kernels run on."""
        return self[0]


gpus = Devices([Device()])


def list_devices() -> Devices:
    """All devices: one."""
    return gpus


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
stream = Stream
default_stream = Stream
legacy_default_stream = Stream
per_thread_default_stream = Stream
event = Event
event_elapsed_time = Event.elapsed_time
defer_cleanup = nullcontext
profiling = nullcontext
close = synchronize
profile_start = synchronize
profile_stop = synchronize
