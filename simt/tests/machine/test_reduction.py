"""cuda.reduce: all lengths, with init, res, size and stream; in the order of Numba's kernel."""

import operator
from functools import reduce

import numpy as np
import pytest

from numba_simt import cuda
from numba_simt.errors import CompileError, UsageError

numba = pytest.importorskip("numba")
add = cuda.reduce(lambda a, b: a + b)
SIZES = (1, 2, 31, 32, 33, 64, 97, 127, 128, 129, 255, 256, 300, 128 * 64, 128 * 65 + 5, 20_000)


@cuda.Reduce
def larger(a, b):
    return a if a > b else b


@cuda.reduce
def first(a, b):
    return a


@pytest.mark.parametrize("n", SIZES)
def test_sums_and_maxima_of_all_lengths(n):
    rng = np.random.default_rng(n)
    x = rng.integers(-1000, 1000, n)
    assert add(x) == x.sum() and larger(x, init=-2000) == x.max()
    assert larger(cuda.to_device(x), init=5000) == 5000
    assert first(x) == x[0]
    y = rng.random(n)
    assert np.isclose(add(y), y.sum(), rtol=1e-12)


def numbas_order(x, op, init):
    """The same combination, written down lane by lane: blocks of 128, warps as trees."""

    def block(values):
        sums = []
        for start in range(0, len(values), 32):
            lanes = values[start : start + 32]
            tree = len(values) == 128 or start + 32 < len(values)
            while tree and len(lanes) > 1:
                half = len(lanes) // 2
                lanes = [op(a, b) for a, b in zip(lanes[:half], lanes[half:], strict=True)]
            sums.append(reduce(op, lanes))
        if len(values) == 128:
            return op(op(sums[0], sums[2]), op(sums[1], sums[3]))
        return reduce(op, sums)

    whole = len(x) // 128 * 128
    blocks = min(whole // 128, 64)
    parts = []
    for b in range(blocks):
        columns = [x[128 * b + t : whole : 128 * blocks] for t in range(128)]
        parts.append(block([reduce(op, column) for column in columns]))
    if whole < len(x):
        parts.append(block(list(x[whole:])))
    parts[0] = op(parts[0], init)
    return block(parts) if len(parts) > 1 else parts[0]


@pytest.mark.parametrize("n", SIZES)
def test_floats_are_added_in_numbas_order(n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    assert add(x, init=3) == numbas_order(list(x), operator.add, np.float32(3))


def test_size_init_res_and_stream():
    x = np.arange(500, dtype=np.float64)
    assert add(x, size=10) == 45 and add(x, size=0, init=7) == 7
    assert add(x, init=1000, stream=cuda.stream()) == x.sum() + 1000
    res = cuda.device_array(2)
    assert add(cuda.to_device(x), res=res, init=1) is None
    assert res[0] == x.sum() + 1 and np.isnan(res[1])
    assert isinstance(add(np.arange(200, dtype=np.int32)), np.int32)


def test_what_is_refused():
    with pytest.raises(UsageError, match="1-D array"):
        add(np.ones((2, 2)))
    with pytest.raises(UsageError, match="give a device array"):
        add(np.ones(2), res=np.ones(1))
    wrong = cuda.reduce(lambda a, b: sorted(a, b))
    with pytest.raises(CompileError, match="`sorted` cannot be called"):
        wrong(np.ones(3))


def test_lambdas_of_one_line_are_told_apart():
    both = cuda.reduce(lambda a, b: a + b), cuda.reduce(lambda a, b: a * b)
    x = np.array([2.0, 3, 4])
    assert both[0](x) == 9 and both[1](x, init=1) == 24
