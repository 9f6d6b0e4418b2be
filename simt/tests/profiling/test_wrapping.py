"""A computed index below 0, which Numba counts from the end: a note, once for each line."""

import numpy as np
import pytest
from kernels import cuda
from numba import float32

from numba_simt import profile


@cuda.jit
def left_neighbour(x, out):
    i = cuda.grid(1)
    out[i] = x[i] - x[i - 1]


@cuda.jit
def guarded_neighbour(x, out):
    i = cuda.grid(1)
    out[i] = x[i] - x[i - 1] if i > 0 else x[i]


@cuda.jit
def literal_index(x, out):
    i = cuda.grid(1)
    out[i] = x[-1] + x[-2 + 1]


@cuda.jit
def of_a_slice(x, out):
    i = cuda.grid(1)
    row = x[2:]
    out[i] = row[i - 1]


@cuda.jit
def of_shared_and_local(x, out):
    s = cuda.shared.array(32, float32)
    w = cuda.local.array(4, float32)
    i = cuda.grid(1)
    s[i - 1] = x[i]
    for k in range(4):
        w[k - 1] = k
    cuda.syncthreads()
    out[i] = s[i] + w[0]


@cuda.jit
def by_an_atomic(x, out):
    i = cuda.grid(1)
    cuda.atomic.add(out, i - 1, x[i])


@cuda.jit
def both_axes(x, out):
    i = cuda.grid(1)
    out[i] = x[i % 4 - 1, i // 4 - 1] + x[i % 4 - 1, 0]


@cuda.jit
def from_an_argument(x, out):
    i = cuda.grid(1)
    out[i] = x[i - x.size]


def notes(kernel, *arguments):
    seen = profile(kernel, 1, 32, *arguments)
    assert seen.completed and all(h.severity == "note" for h in seen.hazards), seen.hazards
    return seen.hazards


VECTORS = np.arange(40, dtype=np.float32), np.zeros(32, np.float32)


@pytest.mark.parametrize(
    ("kernel", "found"),
    [
        (left_neighbour, [("x", 2, -1, 39)]),
        (guarded_neighbour, []),
        (literal_index, []),
        (of_a_slice, [("x", 3, -1, 37)]),
        (of_shared_and_local, [("s", 4, -1, 31), ("w", 6, -1, 3)]),
        (by_an_atomic, [("out", 2, -1, 31)]),
        (from_an_argument, [("x", 2, -40, 0)]),
    ],
)
def test_computed_indices_that_wrap(kernel, found):
    said = [
        (h.address, h.line - kernel.py_func.__code__.co_firstlineno - 1, h.what)
        for h in notes(kernel, *VECTORS)
    ]
    assert [(array, line) for array, line, _ in said] == [(array, n) for array, n, *_ in found]
    for (_, _, what), (_, _, index, place) in zip(said, found, strict=True):
        assert f"the computed index {index} on axis 0" in what and f"place {place}." in what


def test_a_line_is_told_once():
    hazards = notes(both_axes, np.zeros((4, 9), np.float32), np.zeros(32, np.float32))
    assert len(hazards) == 1 and "axis 0" in hazards[0].what


def test_a_plain_launch_wraps_as_numba_does():
    out = np.zeros(32, np.float32)
    left_neighbour[1, 32](VECTORS[0], out)
    assert out[0] == -39
