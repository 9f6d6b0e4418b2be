"""What `numba.cuda` offers, on the SIMT machine: this module stands in for it without a GPU.

The host does one thing after the other, so streams keep order, and events read the host's clock.
What works inside kernels only is here by name, and refuses to work on the host.
"""

import os
import time
from collections import namedtuple
from contextlib import nullcontext
from difflib import get_close_matches

from labkit.gpu.simt import arrays
from labkit.gpu.simt.dispatcher import BLOCK, GRID, SHARED, THREADS, jit  # noqa: F401

IN_KERNELS = """threadIdx blockIdx blockDim gridDim grid gridsize laneid warpsize shared local const
    atomic fp16 libdevice syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp
    threadfence threadfence_block threadfence_system shfl_sync shfl_up_sync shfl_down_sync
    shfl_xor_sync all_sync any_sync eq_sync ballot_sync match_any_sync match_all_sync activemask
    lanemask_lt popc brev clz ffs fma selp cbrt nanosleep"""
_USES = (
    "call getitem len index int float bool add radd sub rsub mul rmul truediv floordiv mod lt gt"
)
DEVICE = {"WARP_SIZE": 32, "MAX_THREADS_PER_BLOCK": THREADS, "MULTIPROCESSOR_COUNT": 1}
DEVICE |= {"MAX_SHARED_MEMORY_PER_BLOCK": SHARED, "MAX_THREADS_PER_MULTIPROCESSOR": THREADS}
DEVICE |= {f"MAX_BLOCK_DIM_{axis}": limit for axis, limit in zip("XYZ", BLOCK, strict=True)}
DEVICE |= {f"MAX_GRID_DIM_{axis}": limit for axis, limit in zip("XYZ", GRID, strict=True)}


class InKernel:
    """A name of `numba.cuda` that means something inside a kernel only; `path` is the name."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> "InKernel":
        if name.startswith("_"):
            raise AttributeError(name)
        return InKernel(f"{self.path}.{name}")

    def refuse(self, *_: object, **__: object) -> None:
        where = "inside a kernel only, in a function under @cuda.jit"
        raise arrays.UsageError(f"cuda.{self.path} works {where}.")


for _use in _USES.split():
    setattr(InKernel, f"__{_use}__", InKernel.refuse)
globals().update({name: InKernel(name) for name in IN_KERNELS.split()})
globals().update({name: getattr(arrays, name) for name in arrays.PUBLIC.split()})


def __getattr__(name: str) -> object:
    near = get_close_matches(name, globals(), 1)
    hint = f"is it cuda.{near[0]}?" if near else "labkit/gpu/simt/README.md says what it has."
    raise arrays.Missing(f"The SIMT machine has no cuda.{name}: {hint}")


def synchronize(*_: object) -> None:
    """Whatever was asked for is done: nothing is ever pending."""


class Stream:
    """Work in order."""

    synchronize = synchronize
    __getattr__ = arrays.lacking("A stream")

    def auto_synchronize(self) -> nullcontext:
        return nullcontext(self)

    def add_callback(self, callback: object, arg: object = None) -> None:
        callback(self, 0, arg)


class Event:
    """A moment on the host's clock."""

    synchronize = wait = synchronize
    __getattr__ = arrays.lacking("An event")

    def __init__(self, timing: bool = True) -> None:
        self.timing, self.moment = timing, None

    def record(self, stream: object = 0) -> None:
        self.moment = time.perf_counter()

    def query(self) -> bool:
        return True

    def elapsed_time(self, evtend: "Event") -> float:
        """Milliseconds from this event to a later one."""
        if not (self.timing and self.moment and evtend.timing and evtend.moment):
            raise arrays.UsageError("elapsed_time needs two recorded events, both with timing.")
        return 1e3 * (evtend.moment - self.moment)


class Device(nullcontext):
    """The one device, and its context: this computer, as a GPU with one multiprocessor."""

    id, name, uuid, compute_capability = 0, "SIMT machine", "SIMT-0", (7, 5)
    supports_float16, supports_bfloat16, supports_fp8 = True, False, False
    synchronize = reset = synchronize

    def __init__(self) -> None:
        super().__init__(self)
        self.__dict__.update(DEVICE, device=self)

    __getattr__ = arrays.lacking("The device")

    def get_memory_info(self) -> tuple[int, int]:
        """Bytes of this computer's memory."""
        names = [n for n in ("SC_AVPHYS_PAGES", "SC_PHYS_PAGES") if n in os.sysconf_names]
        pages = [os.sysconf(name) * os.sysconf("SC_PAGE_SIZE") for name in names]
        return MemoryInfo(free=pages[0], total=pages[-1])


class Devices(tuple):
    current = property(lambda self: self[0])


def list_devices() -> Devices:
    return gpus


def detect() -> bool:
    print("Found 1 CUDA devices\nid 0: SIMT machine, compute capability 7.5 [no GPU: simulated]")
    return True


MemoryInfo = namedtuple("MemoryInfo", "free total")
gpus = Devices([Device()])
current_context = get_current_device = select_device = lambda devnum=0: gpus[devnum or 0]
is_available = is_supported_version = is_float16_supported = lambda: True
is_bfloat16_supported = is_fp8_supported = lambda: False
stream = default_stream = legacy_default_stream = per_thread_default_stream = Stream
event, event_elapsed_time = Event, Event.elapsed_time
defer_cleanup = profiling = nullcontext
close = profile_start = profile_stop = synchronize
