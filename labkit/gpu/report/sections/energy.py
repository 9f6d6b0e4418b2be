"""Energy, by the GPU's own counter: watts, and joules for arithmetic and for bytes."""

import ctypes
import time
from collections.abc import Callable
from functools import partial

import torch

from labkit.gpu.kernels.matmul import plan_matmul
from labkit.gpu.ladder_speeds import miss
from labkit.gpu.report.machine import first_gpu
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.sections.peaks import this_gpu
from labkit.gpu.report.tasks import Bench
from labkit.gpu.training.tensors import launch
from labkit.provenance import predicted

SECONDS = 2.0  # of each kind of work: the counter is brought up to date some ten times a second
LIBRARY = "libnvidia-ml.so.1"
SM_CLOCK = 1  # NVML's number for it


class Counter:
    """The energy that the first GPU has used, and its clock, as NVML tells them."""

    def __init__(self) -> None:
        """NotHere, in a sentence, where NVML or the counter is missing."""
        try:
            self.nvml = ctypes.CDLL(LIBRARY)
        except OSError:
            raise NotHere(f"NVML ({LIBRARY}) is not here.") from None
        self.device = ctypes.c_void_p()
        self._ask("nvmlInit_v2")
        first = first_gpu()
        index = int(first) if first.isdecimal() else 0
        self._ask("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self.device))

    def _ask(self, function: str, *arguments: object) -> None:
        code = getattr(self.nvml, function)(*arguments)
        if code:
            raise NotHere(f"NVML does not answer: {function} gives {code}.")

    def joules(self) -> float:
        """Since the driver was loaded."""
        found = ctypes.c_ulonglong()
        self._ask("nvmlDeviceGetTotalEnergyConsumption", self.device, ctypes.byref(found))
        return found.value / 1e3

    def megahertz(self) -> int:
        """The clock of the multiprocessors at this moment."""
        found = ctypes.c_uint()
        self._ask("nvmlDeviceGetClockInfo", self.device, SM_CLOCK, ctypes.byref(found))
        return found.value


def work(bench: Bench, earlier: dict) -> Work:
    """The same work for two seconds, of several kinds."""
    yield "nothing", partial(idle_row, bench)
    for name, prepare in WORKS.items():
        yield name, partial(energy_row, bench, name, prepare)


def idle_row(bench: Bench) -> Row:
    """The power of a GPU that waits."""
    if bench.dry:
        raise NotHere("Only a GPU has a counter of energy.")
    counter = Counter()
    start = counter.joules()
    began = time.perf_counter()
    time.sleep(SECONDS)
    watts = (counter.joules() - start) / (time.perf_counter() - began)
    return Row({"power": bench.measured(watts, "W")})


def products(kind: torch.dtype) -> Callable[[], tuple[Callable, float, str]]:
    """cuBLAS on large matrices of this kind of number."""

    def prepare() -> tuple[Callable, float, str]:
        a, b = torch.randn(2, 8192, 8192, device="cuda").to(kind)
        out = torch.empty_like(a)
        return lambda: torch.mm(a, b, out=out), 2 * 8192**3, "FLOP"

    return prepare


def our_product() -> tuple[Callable, float, str]:
    """Our tuned matmul."""
    n = 4096
    a, b, c = torch.randn(3, n, n, device="cuda")
    return lambda: launch(plan_matmul(n, n), a, b, c, n, n, n), 2 * n**3, "FLOP"


def copies() -> tuple[Callable, float, str]:
    """Copies of a gibibyte: each byte is read and written."""
    x = torch.randn(2**28, device="cuda")
    y = torch.empty_like(x)
    return lambda: y.copy_(x), 2 * 2**30, "B"


WORKS = {
    "cuBLAS, float32": products(torch.float32),
    "cuBLAS, float16": products(torch.float16),
    "our tuned matmul, float32": our_product,
    "copies": copies,
}
FORMATS = {"cuBLAS, float32": "fp32", "cuBLAS, float16": "fp16"}


def energy_row(bench: Bench, name: str, prepare: Callable) -> Row:
    """Power, and energy for a FLOP or a byte; beside what the data sheets promise."""
    if bench.dry:
        raise NotHere("Only a GPU has a counter of energy.")
    counter = Counter()
    run, amount, unit = prepare()
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start = counter.joules()
    began = time.perf_counter()
    times = 0
    while time.perf_counter() - began < SECONDS:
        for _ in range(5):
            run()
        torch.cuda.synchronize()
        times += 5
    clock = counter.megahertz()
    seconds = time.perf_counter() - began
    joules = counter.joules() - start
    numbers = {
        "energy": bench.measured(1e12 * joules / (times * amount), f"pJ/{unit}"),
        "power": bench.measured(joules / seconds, "W"),
        "rate": bench.measured(times * amount / seconds, f"{unit}/s"),
        "clock": bench.measured(clock, "MHz"),
    }
    if name not in FORMATS:
        return Row(numbers)
    gpu = this_gpu(bench)
    promised = 1e12 * float(gpu.power) / float(gpu.peak[FORMATS[name]])
    numbers["by the data sheet"] = predicted(promised, "pJ/FLOP", "full power over the peak")
    said = f"the data sheet's energy is {miss(numbers['by the data sheet'], numbers['energy'])}"
    return Row(numbers, None, said, "training")
