"""The limits that all kernel exercises share: each refuses its waste, and leaves styles alone."""

import numpy as np
import pytest

from labkit.gpu import cuda, profile
from labkit.gpu.judging.cost_limits import ProfiledLaunch, float64, over_limit

N = 1000
TWO = np.float32(2)


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = TWO * x[i]


@cuda.jit
def one_thread(x, y):
    if cuda.grid(1) == 0:
        for i in range(x.size):
            y[i] = TWO * x[i]


@cuda.jit
def one_lane_of_each_warp(x, y):
    i = cuda.grid(1)
    if i % 32 == 0:
        for k in range(i, min(i + 32, x.size)):
            y[k] = TWO * x[k]


@cuda.jit
def first_block(x, y):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, x.size, cuda.blockDim.x):
            y[i] = TWO * x[i]


@cuda.jit
def scattered(x, y):
    i = cuda.grid(1)
    k = i * 7 % 1000
    if i < x.size:
        y[k] = TWO * x[k]


@cuda.jit
def everybody_does_all(x, y):
    for i in range(cuda.threadIdx.x % 32, x.size, 32):
        y[i] = TWO * x[i]


@cuda.jit
def by_atomics(x, y):
    i = cuda.grid(1)
    if i < x.size:
        for _ in range(2):
            cuda.atomic.add(y, i, x[i])


@cuda.jit
def in_float64(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(2.0 * x[i], -1e9 * abs(x[i]) - 1.0)


@cuda.jit
def by_columns_of_shared_memory(x, y):
    tile = cuda.shared.array((32, 32), "float32")
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t % 32, t // 32] = x[i] if i < x.size else TWO
    if i < x.size:
        y[i] = TWO * tile[t % 32, t // 32]


@cuda.jit
def twice_read(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] + x[i]


@cuda.jit
def grid_stride(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = TWO * x[i]


@cuda.jit
def whole_number(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]  # typed as float64, compiled as float32


@cuda.jit
def question(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = TWO * x[i] if x[i] > 0 else x[i] + x[i]


def launched(kernel):
    x = np.linspace(-1, 1, N, dtype=np.float32)
    y = np.zeros_like(x)
    arguments = (x, y)
    return ProfiledLaunch(kernel, arguments, (y,), profile(kernel, 8, 128, *arguments))


@pytest.fixture(scope="module")
def ours():
    return launched(double)


@pytest.mark.parametrize(
    ("kernel", "says"),
    [
        (one_thread, "of all threads 1 alone asked for anything"),
        (first_block, "of all threads 128 alone asked for anything"),
        (one_lane_of_each_warp, "of all threads 32 alone asked for anything"),
        (scattered, "a warp's load touches"),
        (everybody_does_all, "asked for again and again"),
        (by_atomics, "2,000 atomic operations are asked for, where 0 would do"),
        (by_columns_of_shared_memory, "bank conflicts, ours has 0"),
    ],
)
def test_each_waste_has_its_sentence(ours, kernel, says):
    theirs = launched(kernel)
    assert says in over_limit(theirs, ours)


@pytest.mark.parametrize("kernel", [double, twice_read, grid_stride, question])
def test_other_styles_are_left_alone(ours, kernel):
    assert over_limit(launched(kernel), ours) is None


def test_float64_is_judged_as_compiled():
    """What Numba types as float64 and the compiler makes float32 again is nobody's fault."""
    pytest.importorskip("numba_cuda", reason="NVIDIA's compiler is not installed here")
    theirs = launched(whole_number)
    assert theirs.counters["float64"] > 0
    assert float64(theirs) is None
    said = float64(launched(in_float64))
    assert "it computes in float64" in said and "max(2.0 * x[i]" in said
    assert float64(launched(double)) is None
