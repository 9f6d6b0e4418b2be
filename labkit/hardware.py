"""The machines of the course and the roofline: how fast can a kernel run on a machine at best?

`machine("t4")` looks a machine up in `hardware.toml`, where every figure has its source;
`measure_this_machine()` measures the one you sit at; `roofline()` says which of two limits holds:

    attainable [FLOP/s] = min(peak [FLOP/s], intensity [FLOP/B] x bandwidth [B/s])

Source of the model: Williams, Waterman and Patterson, "Roofline", Communications of the ACM, 2009.
"""

import difflib
import math
import sys
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from types import MappingProxyType

from labkit.machine_probe import this_machine
from labkit.provenance import Quantity, measured, predicted, published

# Number formats, and the unit of a rate in them; then the units of the other figures.
FORMATS = {f: "FLOP/s" for f in ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4")}
FORMATS |= {f: "OP/s" for f in ("int8", "int4")}
UNITS = {"bandwidth": "B/s", "memory": "B", "on_chip": "B", "power": "W", "price": "USD"}


@dataclass(frozen=True)
class Machine:
    """A machine's limits. Peaks are dense rates per number format: no sparsity counted."""

    key: str
    name: str
    kind: str  # "cpu", "gpu", "tpu" or "fpga"
    year: int | None
    peak: dict[str, Quantity]  # FLOP/s for fp.., tf32, bf16; OP/s for int..
    bandwidth: Quantity  # B/s, main memory
    memory: Quantity  # B
    power: Quantity | None = None  # W
    price: Quantity | None = None  # USD, or USD/h in a cloud
    on_chip: Quantity | None = None  # B, block RAM of an FPGA
    notes: str = ""

    def rate(self, number_format: str = "fp32") -> Quantity:
        """The peak in this format; ValueError names the formats that there are, if not this one."""
        if number_format not in self.peak:
            has = ", ".join(self.peak)
            raise ValueError(f"{self.name} has no peak rate in {number_format!r}. It has: {has}.")
        return self.peak[number_format]

    def ridge(self, number_format: str = "fp32") -> float:
        """peak / bandwidth: the FLOP/B at which memory and arithmetic take equally long."""
        return float(self.rate(number_format)) / float(self.bandwidth)


@cache
def machines() -> Mapping[str, Machine]:
    """All machines of the table, by key. A figure made by a formula is predicted, not published."""
    text = Path(__file__).with_name("hardware.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)

    def figure(entry: dict, usual: str) -> Quantity:
        source, unit = table["sources"][entry["source"]], entry.get("unit", usual)
        says = f"{source['title']}, {source['url']}"
        if formula := entry.get("formula"):
            return predicted(float(entry["value"]), unit, f"{formula}; figures of {says}")
        return published(float(entry["value"]), unit, says)

    found = {}
    for key, row in table["machines"].items():
        figures = {name: figure(row[name], unit) for name, unit in UNITS.items() if name in row}
        peak = {f: figure(entry, FORMATS[f]) for f, entry in row["peak"].items()}
        found[key] = Machine(key, **{**row, **figures, "peak": peak})
    return MappingProxyType(found)


def machine(key: str) -> Machine:
    """The machine with this key, as "t4" or "tpu_v5e". ValueError names the near matches."""
    table = machines()
    if key in table:
        return table[key]
    near = difflib.get_close_matches(str(key).lower(), table, cutoff=0.5)
    meant = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise ValueError(f"No machine {key!r} in the table. {meant}There are: {', '.join(table)}.")


@dataclass(frozen=True)
class Roof:
    """The best that a kernel of one intensity can reach on a machine, and which limit it meets."""

    attainable: Quantity  # FLOP/s or OP/s
    bound: str  # "memory" or "compute"
    ridge: float  # FLOP/B

    def __str__(self) -> str:
        return f"{self.attainable}, {self.bound}-bound (ridge at {self.ridge:.3g} FLOP/B)"


def roofline(machine: Machine, intensity: float, number_format: str = "fp32") -> Roof:
    """min(peak, intensity x bandwidth) for `intensity` in FLOP/B; from the ridge on: compute-bound.

    Raises ValueError for a negative intensity and for a format in which the machine has no peak.
    """
    if math.isnan(intensity) or intensity < 0:
        raise ValueError(f"Intensity is FLOP per byte moved, a number >= 0, not {intensity}.")
    peak, ridge = machine.rate(number_format), machine.ridge(number_format)
    attainable = min(float(peak), intensity * float(machine.bandwidth))
    bound = "memory" if intensity < ridge else "compute"
    formula = f"the roofline of {machine.name} in {number_format}"
    return Roof(predicted(attainable, peak.unit, formula), bound, ridge)


def measure_this_machine(seconds: float = 1.0) -> Machine:
    """The machine you sit at, its two limits measured in about `seconds`.

    peak["fp32"]  the best float32 matrix product of NumPy, 2 n^3 FLOP each; once PyTorch is loaded
                  its best convolution too, which may use instructions that NumPy does not
    bandwidth     the best copy, on all cores, of an array far larger than the caches; bytes read
                  plus bytes written. Where a cache first fetches the line that is overwritten
                  (write-allocate), up to half as much again moves; this is not counted.
    `notes` says with which sizes. Raises ValueError unless 0 < seconds <= 60.
    """
    if not 0 < seconds <= 60:
        raise ValueError(f"seconds to measure for: above 0 and up to 60, not {seconds}.")
    here = this_machine()
    rates = [_best_product(seconds / 2)]
    if "torch" in sys.modules:
        rates.append(_best_convolution(seconds / 2))
    flops, work = max(rates)
    bandwidth, copy = _best_copy(seconds / 2)
    limits = {"peak": {"fp32": measured(flops, "FLOP/s")}, "bandwidth": measured(bandwidth, "B/s")}
    limits |= {"memory": measured(here.memory, "B"), "notes": f"{work}; {copy}."}
    return Machine("this_machine", here.name, "cpu", year=None, **limits)


def _best_product(seconds: float) -> tuple[float, str]:
    """FLOP/s of the best float32 product, and its size: the first power of two that takes 20 ms."""
    import numpy as np

    rng, n, best = np.random.default_rng(0), 256, 0.0
    while best < 0.02 and n < 4096:
        n *= 2
        a, b = rng.random((2, n, n), dtype=np.float32)  # [n, n] each
        c = np.zeros_like(a)
        best = _best_time(lambda a=a, b=b, c=c: np.matmul(a, b, out=c), 0, runs=1)
    best = min(best, _best_time(lambda: np.matmul(a, b, out=c), seconds))
    return 2 * n**3 / best, f"float32 product of {n} x {n} matrices"


def _best_convolution(seconds: float) -> tuple[float, str]:
    """FLOP/s of PyTorch's best float32 3x3 convolution, forward, 64 to 64 channels of 56 x 56."""
    import torch

    x, w = torch.rand(8, 64, 56, 56), torch.rand(64, 64, 3, 3)
    with torch.inference_mode():
        best = _best_time(lambda: torch.conv2d(x, w, padding=1), seconds)
    return 2 * 8 * 64 * 56 * 56 * 64 * 9 / best, "float32 3x3 convolution, 8 x 64 x 56 x 56"


def _best_copy(seconds: float) -> tuple[float, str]:
    """B/s, read plus written, of the best copy from one array to another; and how it was done."""
    import numpy as np

    here = this_machine()
    mib = max(64, min(256, here.memory // 16 >> 20))  # no cache holds 256 MiB twice; memory does
    threads = min(here.cores, 16)  # one core alone seldom fills the memory's bandwidth
    sources = np.array_split(np.ones(mib << 17), threads)  # 2^17 float64 are a MiB
    targets = np.array_split(np.zeros(mib << 17), threads)
    with ThreadPoolExecutor(threads) as pool:  # copyto lets go of the interpreter's lock
        best = _best_time(lambda: list(pool.map(np.copyto, targets, sources)), seconds)
    return 2 * (mib << 20) / best, f"copy of {mib} MiB by {threads} thread(s)"


def _best_time(work: Callable[[], object], seconds: float, runs: int = 3) -> float:
    """Seconds of the fastest of at least `runs` runs, after one to warm up."""
    work()
    times: list[float] = []
    start = perf_counter()
    while len(times) < runs or perf_counter() - start < seconds:
        begin = perf_counter()
        work()
        times.append(perf_counter() - begin)
    return min(times)


def runs_on() -> None:
    """Print, in one line, what a lesson runs on: the line that every lesson begins with."""
    print(f"Runs on: {this_machine()}.")
