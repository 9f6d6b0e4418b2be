"""The SIMT machine's counters beside Nsight Compute's, on kernels small enough to explain.

`ncu` profiles this file as a program of its own, which launches each kernel once, in order.
"""

import csv
import math
import os
import re
import shutil
import subprocess
import sys
from functools import cache

import numpy as np
from numba import float32
from timing import NotHere

from labkit.gpu import cuda, profile
from labkit.gpu.counters import COUNTERS

COMPARED = """
global_load_requests global_load_sectors global_load_bytes shared_load_requests
global_store_requests global_store_sectors global_store_bytes shared_store_requests
shared_load_transactions shared_load_conflicts shared_store_transactions shared_store_conflicts
traffic_bytes flops_fp32
""".split()
EXPLAINED: dict[tuple[str, str], str] = {}  # (kernel, counter): why the two machines differ


@cuda.jit
def shifted_copy(x, y):
    i = cuda.grid(1)
    if i + 1 < x.size:
        y[i] = x[i + 1]


@cuda.jit
def strided_copy(x, y):
    i = cuda.grid(1)
    if 2 * i < x.size:
        y[i] = x[2 * i]


@cuda.jit
def polynomial(x, y):
    i = cuda.grid(1)
    if i < x.size:
        value = x[i]  # once: a compiler would see to it, the SIMT machine does as it is told
        y[i] = (value * float32(3) + float32(2)) * value + float32(1)


def transposed(width: int) -> object:
    """The kernel with a tile of 32 x width in shared memory."""

    @cuda.jit
    def transpose(x, y):
        tile = cuda.shared.array((32, width), float32)
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        row, column = 32 * cuda.blockIdx.y, 32 * cuda.blockIdx.x
        tile[i, j] = x[row + i, column + j]
        cuda.syncthreads()
        y[column + i, row + j] = tile[j, i]

    return transpose


def cases() -> dict[str, tuple]:
    """Row -> kernel, grid, block, x, the y that it must write."""
    x = np.random.default_rng(0).standard_normal(10_001).astype(np.float32)
    tiles = x[: 64 * 96].reshape(64, 96)
    flat, tiled = (40, 256), ((3, 2), (32, 32))
    return {
        "shifted copy": (shifted_copy, *flat, x, x[1:]),
        "strided copy": (strided_copy, *flat, x, x[::2]),
        "transpose": (transposed(32), *tiled, tiles, tiles.T),
        "padded transpose": (transposed(33), *tiled, tiles, tiles.T),
        "polynomial": (polynomial, *flat, x, (x * 3 + 2) * x + 1),
    }


def launch() -> None:
    """Each kernel once, on the GPU; what `ncu` watches."""
    for name, (kernel, grid, block, x, right) in cases().items():
        y = cuda.to_device(np.full(right.shape, np.nan, np.float32))
        kernel[grid, block](cuda.to_device(x), y)
        if not np.allclose(y.copy_to_host(), right, rtol=1e-5, atol=1e-5):
            raise SystemExit(f"{name}: the kernel's result is wrong.")


def terms(counter: str) -> list[tuple[int, str]]:
    """Weights and metrics: "op_{add, 2 x fma}.sum" is op_add.sum + 2 op_fma.sum."""
    head, brace, rest = COUNTERS[counter].nsight.partition("{")
    inside, _, tail = rest.partition("}")
    parts = (part.rpartition(" x ") for part in inside.split(", "))
    return [(int(n or 1), head + m + tail) for n, _, m in parts] if brace else [(1, head)]


def number(text: str) -> float:
    """1,234.5 or 1.2e+06; NaN for "n/a", and for what may mean two things."""
    plain = re.fullmatch(r"(\d+|\d{1,3}(,\d{3})+)(\.\d+)?([eE][+-]?\d+)?", text)
    return float(text.replace(",", "")) if plain else math.nan


@cache
def ask(metrics: frozenset[str]) -> dict[str, dict[str, float]]:
    """Row -> metrics of its launch, without those that this `ncu` does not know."""
    ncu = shutil.which("ncu") or shutil.which("ncu", path="/usr/local/cuda/bin")
    if not ncu:
        raise NotHere("ncu, the program of Nsight Compute, is not here")
    command = [ncu, "--csv", "--page", "details", "--print-units", "base"]
    command += ["--clock-control", "none", "--target-processes", "all", "--metrics"]
    command += [",".join(sorted(metrics)), sys.executable, __file__]
    env = os.environ | {"LABKIT_CUDA": "gpu", "PYTHONPATH": os.pathsep.join(sys.path)}
    env["LC_ALL"] = "C"  # numbers as `number` reads them
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    said = done.stdout + done.stderr
    if unknown := metrics & set(re.findall(r"Failed to find metric \W*([\w.]+)", said)):
        return ask(metrics - unknown) if metrics - unknown else {row: {} for row in cases()}
    if "ERR_NVGPUCTRPERM" in said:
        raise NotHere("this user may not read the GPU's counters")
    _, header, table = done.stdout.partition('"ID"')
    launches: dict[int, dict[str, float]] = {}
    for line in csv.DictReader((header + table).splitlines()):
        told = launches.setdefault(int(line["ID"]), {})
        told[line["Metric Name"]] = number(line["Metric Value"])
    if done.returncode or len(launches) != len(cases()):
        raise RuntimeError(f"ncu gave no table: {' '.join(said.split())[-400:]}")
    return dict(zip(cases(), (launches[i] for i in sorted(launches)), strict=True))


def compare(bench: object, row: str) -> tuple[float, str]:
    """How many counters of this kernel differ without an explanation, and which."""
    kernel, grid, block, x, right = cases()[row]
    ours = profile(kernel, grid, block, x, np.empty(right.shape, np.float32)).counters
    theirs = ask(frozenset(metric for name in COMPARED for _, metric in terms(name)))[row]
    differ, unread = [], []
    for name in COMPARED:
        their = sum(weight * theirs.get(metric, math.nan) for weight, metric in terms(name))
        if math.isnan(their):
            unread.append(name)
        elif their != ours[name]:
            why = EXPLAINED.get((row, name), "not explained")
            differ.append(f"{name} {ours[name]:g}, on the GPU {their:g}: {why}")
    if len(unread) == len(COMPARED):
        raise NotHere("ncu reads none of these counters")
    said = [f"{len(COMPARED) - len(differ) - len(unread)} of {len(COMPARED)} equal", *differ]
    said += [f"{', '.join(unread)} cannot be read"] if unread else []
    return sum("not explained" in each for each in differ), "; ".join(said)


if __name__ == "__main__":
    launch()
