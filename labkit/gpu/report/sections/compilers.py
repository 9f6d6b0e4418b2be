"""The same kernels by other compilers: a tile in CUDA C++ by `nvcc`, a softmax in Triton."""

import ctypes
import subprocess
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from labkit.gpu.kernels.matmul import plan_matmul
from labkit.gpu.kernels.softmax import plan_softmax
from labkit.gpu.report.rows import NotHere, Row, Work
from labkit.gpu.report.sections.nsight import program
from labkit.gpu.report.tasks import Bench, normal, ours, ratio, sides
from labkit.gpu.report.timing import Task, measure
from labkit.torch_cache import keep_compiled_by_torch

TILE = """
extern "C" __global__ void tile(const float *a, const float *b, float *c, int n) {
    __shared__ float at[32][32], bt[32][32];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    float total = 0;
    for (int k0 = 0; k0 < n; k0 += 32) {
        at[y][x] = row < n && k0 + x < n ? a[row * n + k0 + x] : 0;
        bt[y][x] = k0 + y < n && col < n ? b[(k0 + y) * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 32; k++) total += at[y][k] * bt[k][x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = total;
}
extern "C" int launch(const float *a, const float *b, float *c, int n, void *stream) {
    dim3 grid((n + 31) / 32, (n + 31) / 32), block(32, 32);
    tile<<<grid, block, 0, (cudaStream_t)stream>>>(a, b, c, n);
    return cudaGetLastError();
}
"""


def work(bench: Bench, earlier: dict) -> Work:
    """One row for each compiler."""
    yield "shared tile in CUDA C++ (nvcc)", partial(nvcc_row, bench)
    yield "softmax in Triton", partial(triton_row, bench)


def nvcc_row(bench: Bench) -> Row:
    """The rung "shared tile" of the ladder, and the same in C++."""
    nvcc = program("nvcc")
    if bench.dry:
        raise NotHere("What nvcc compiles runs on a GPU only.")
    major, minor = torch.cuda.get_device_capability()
    n = 4096
    with tempfile.TemporaryDirectory(prefix="labkit-nvcc-") as folder:
        source = Path(folder, "tile.cu")
        source.write_text(TILE, "utf-8")
        library = Path(folder, "tile.so")
        line = [nvcc, "-O3", f"-arch=sm_{major}{minor}", "-shared", "-Xcompiler", "-fPIC"]
        done = subprocess.run(
            [*line, "-o", library, source], capture_output=True, text=True, timeout=40
        )
        if done.returncode:
            raise RuntimeError(f"nvcc: {' '.join(done.stderr.split())[-200:]}")
        compiled = ctypes.CDLL(str(library))
    both = {
        "ours": ours(plan_matmul(n, n, "shared tile"), n, n, n),
        "C++": by_library(compiled.launch, n),
    }
    task = Task("tile", normal((n, n), (n, n)), ((n, n),), both, lambda a, b: (a @ b,))
    times = measure(task, bench.device)
    number = bench.measured(100 * ratio(times, "C++"), "% of the speed of C++")
    return Row({"ours in Numba": number} | sides(bench, times, 2 * n**3))


def by_library(function: Any, n: int) -> Callable:
    """The side that calls a compiled function with pointers."""

    def prepare(inputs: tuple, outputs: tuple) -> Callable[[], None]:
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (*inputs, *outputs)]

        def run() -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            if code := function(*pointers, n, stream):
                raise RuntimeError(f"CUDA gives error {code}.")

        return run

    return prepare


def triton_row(bench: Bench) -> Row:
    """Softmax of rows of 4096 in Triton, and ours."""
    if find_spec("triton") is None:
        raise NotHere("Triton is not installed.")
    if bench.dry:
        raise NotHere("What Triton compiles runs on a GPU only.")
    keep_compiled_by_torch()
    from labkit.gpu.report.sections.triton_softmax import softmax

    rows = min(2**15, bench.device.memory // (128 * 4096))
    shape = (rows, 4096)

    def by_triton(inputs: tuple, outputs: tuple) -> Callable[[], None]:
        return lambda: softmax(inputs[0], outputs[0])

    both = {"ours": ours(plan_softmax(*shape)), "Triton": by_triton}
    task = Task("softmax", normal(shape), (shape,), both, lambda x: (torch.softmax(x, 1),))
    times = measure(task, bench.device)
    number = bench.measured(100 * ratio(times, "Triton"), "% of the speed of Triton")
    return Row({"ours in Numba": number} | sides(bench, times, 8 * rows * 4096, "B/s"))
