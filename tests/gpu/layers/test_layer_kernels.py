"""Pointwise kernels, sums, pooling, softmax and SGD: against the oracles, counted, and compiled."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numba import float32

from labkit import reference as ref
from labkit.gpu import compile_report, cuda, occupancy, profile
from labkit.gpu.kernels import Plan, reductions, softmax
from labkit.gpu.kernels.pointwise import (
    TILE,
    plan_bias_add,
    plan_copy,
    plan_relu,
    plan_relu_backward,
    plan_sgd_momentum,
)
from labkit.gpu.kernels.pooling import (
    plan_bias_relu_pool,
    plan_maxpool2d,
    plan_maxpool2d_backward,
)
from labkit.gpu.kernels.reductions import plan_column_sum, plan_row_sum
from labkit.gpu.kernels.softmax import (
    plan_cross_entropy,
    plan_cross_entropy_backward,
    plan_softmax,
)
from tests.night import others_by_night

SIZES = [1, 3, 67, TILE - 1, TILE, TILE + 1, 3 * TILE + 50]
ROWS = [(1, 1), (1, 300), (5, 10), (9, 64), (3, 513), (2, 4096), (11, 20), (2, 16390), (1, 20000)]
IMAGES = [(1, 1, 2, 2), (2, 3, 5, 7), (2, 4, 8, 8), (1, 2, 3, 9), (3, 2, 6, 12), (1, 5, 31, 4)]
LR, MOMENTUM = np.float32(0.1), np.float32(0.9)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def halves(*shape: int) -> np.ndarray:
    """Numbers with many ties, and zeros of both signs."""
    return np.round(2 * numbers(*shape)) / 2


def nothing(*shape: int) -> np.ndarray:
    return np.full(shape, np.nan, np.float32)


def run(plan: Plan, *arguments: object) -> None:
    plan.kernel[plan.grid, plan.block](*arguments)


def equal(got: np.ndarray, wanted: np.ndarray, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(got, wanted, rtol, atol)


@pytest.mark.parametrize("n", SIZES)
def test_elements_one_by_one(n):
    x, dy, y = numbers(n), numbers(n, seed=1), nothing(n)
    run(plan_copy(n), x, y)
    assert (y == x).all()
    run(plan_relu(n), x, y)
    equal(y, ref.relu(x))
    dx = nothing(n)
    run(plan_relu_backward(n), dy, y, dx)  # the signs of y = relu(x) are those of x
    equal(dx, ref.relu_backward(dy, x))


@pytest.mark.parametrize("n", SIZES)
def test_sgd_is_that_of_the_oracle(n):
    p, g, v = (numbers(n, seed=seed) for seed in range(3))
    new_p, new_v = (new["w"] for new in ref.sgd({"w": p}, {"w": g}, {"w": v}, LR, MOMENTUM))
    run(plan_sgd_momentum(n), p, g, v, LR, MOMENTUM)
    equal(p, new_p)
    equal(v, new_v)


def test_relu_at_its_edges():
    x, y = np.array([0.0, -0.0, np.inf, -np.inf, np.nan], np.float32), nothing(5)
    run(plan_relu(5), x, y)
    assert np.array_equal(y, [0, 0, np.inf, 0, np.nan], equal_nan=True)
    run(plan_relu_backward(4), np.ones(4, np.float32), x[:4], dx := nothing(4))
    assert (dx == [0, 0, 1, 0]).all()  # at 0 the gradient is 0


@pytest.mark.parametrize(("N", "K", "S"), [(1, 1, 1), (3, 5, 7), (16, 32, 256), (37, 10, 1)])
def test_bias_of_a_linear_and_of_a_convolutional_layer(N, K, S):
    x, b, y = numbers(N, K, S), numbers(K), nothing(N * K * S)
    run(plan_bias_add(N, K, S), x.ravel(), b, y)
    equal(y.reshape(x.shape), x + b[:, None])
    sums, db = nothing(N * K), nothing(K)  # backward
    run(plan_row_sum(N * K, S), x.reshape(N * K, S), sums)
    run(plan_column_sum(N, K), sums.reshape(N, K), db)
    equal(db, x.sum((0, 2), dtype=np.float64), atol=1e-4)


@pytest.mark.parametrize(("N", "K"), ROWS)
def test_sums_of_rows_and_columns(N, K):
    x, rows, columns = numbers(N, K), nothing(N), nothing(K)
    run(plan_row_sum(N, K), x, rows)
    equal(rows, x.sum(1, dtype=np.float64), atol=1e-4)
    run(plan_column_sum(N, K), x, columns)
    equal(columns, x.sum(0, dtype=np.float64), atol=1e-5)


def test_column_sum_of_many_rows():
    x, y = numbers(300, 33), nothing(33)
    run(plan_column_sum(300, 33), x, y)
    equal(y, x.sum(0, dtype=np.float64), atol=1e-5)


@cuda.jit
def sum_and_sum_of_twice(x, y):
    """Each warp hurries on to the second sum as soon as it has the first."""
    i = cuda.threadIdx.x
    first = reductions.block_sum(x[i])
    y[i] = first + float32(1000) * reductions.block_sum(float32(2) * x[i])


def test_two_sums_of_a_block_do_not_meet_in_shared_memory():
    x, y = np.ones(256, np.float32), nothing(256)
    found = profile(sum_and_sum_of_twice, 1, 256, x, y)
    assert found.hazards == [] and (y == 256 + 512_000).all()


def softmax_of(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@pytest.mark.parametrize(("N", "K"), ROWS)
@pytest.mark.parametrize("scale", [1, 1e4], ids=["plain", "large"])
def test_softmax_and_its_loss(N, K, scale):
    x, y = np.float32(scale) * numbers(N, K), nothing(N, K)
    labels = np.random.default_rng(N).integers(0, K, N)
    run(plan_softmax(N, K), x, y)
    equal(y, softmax_of(x), rtol=1e-4)
    losses, loss = nothing(N), nothing(1)
    run(plan_cross_entropy(N, K), x, labels, losses)
    run(plan_row_sum(1, N), losses.reshape(1, N), loss)
    equal(loss[0], ref.softmax_cross_entropy(x, labels))
    dloss, dlogits = np.full(1, 2, np.float32), nothing(N, K)
    run(plan_cross_entropy_backward(N, K), dloss, x, labels, dlogits)
    equal(dlogits, 2 * ref.softmax_cross_entropy_backward(x, labels), rtol=1e-4)


@pytest.mark.parametrize("wrong", [4, -1, 2**32 + 1, 2**32, -(2**32)])
def test_a_label_that_is_no_class_makes_loss_and_gradient_nan(wrong):
    """2^32 + 1 is 1 in 32 bits."""
    logits, labels = numbers(3, 4), np.array([0, wrong, 1])
    losses, dlogits, dloss = nothing(3), nothing(3, 4), np.ones(1, np.float32)
    run(plan_cross_entropy(3, 4), logits, labels, losses)
    assert np.isnan(losses).tolist() == [False, True, False]
    run(plan_cross_entropy_backward(3, 4), dloss, logits, labels, dlogits)
    assert np.isnan(dlogits).tolist() == [4 * [False], 4 * [True], 4 * [False]]


LEAST = np.finfo(np.float32).min
FEW = {  # 4 logits; the rest of the row is -inf
    "masked": [1, -np.inf, 1, 0],
    "the least": 4 * [LEAST],
    "nearly the least": [-3.4e38, LEAST, -3.401e38, -3.4e38],
    "all masked": 4 * [-np.inf],
    "infinite": [np.inf, 0, 1, 2],
    "NaN": [np.nan, 0, 1, 2],
}


@pytest.mark.parametrize("first", FEW.values(), ids=FEW)
@pytest.mark.parametrize("K", [4, 7, 600, 16390])
def test_softmax_of_logits_at_the_end_of_the_range(first, K):
    x, labels = np.full((1, K), -np.inf, np.float32), np.array([1])
    x[0, :4] = first
    y, loss, dlogits, dloss = nothing(1, K), nothing(1), nothing(1, K), np.ones(1, np.float32)
    run(plan_softmax(1, K), x, y)
    run(plan_cross_entropy(1, K), x, labels, loss)
    run(plan_cross_entropy_backward(1, K), dloss, x, labels, dlogits)
    logits = torch.tensor(x, requires_grad=True)
    wanted = F.cross_entropy(logits, torch.tensor(labels))
    wanted.backward()
    np.testing.assert_allclose(y, F.softmax(logits.detach(), 1), 1e-5)
    np.testing.assert_allclose(loss[0], wanted.item(), 1e-5)
    np.testing.assert_allclose(dlogits, logits.grad, 1e-5, 1e-6)


@pytest.mark.parametrize("shape", IMAGES, ids=str)
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (2, 1), (2, 3), (1, 1), (2, 2)])
def test_pooling(shape, size, stride):
    x = halves(*shape)  # with ties: the first maximum takes the gradient
    wanted = ref.maxpool2d(x, size, stride)
    y, dx, dy = nothing(*wanted.shape), nothing(*shape), numbers(*wanted.shape)
    run(plan_maxpool2d(shape, size, stride), x, y)
    assert (y == wanted).all()
    run(plan_maxpool2d_backward(shape, size, stride), dy, x, dx)
    equal(dx, ref.maxpool2d_backward(dy, x, size, stride))


def test_pooling_by_three_and_of_nan():
    x = numbers(2, 2, 7, 8)
    x[0, 0, 1, 1] = np.nan
    y = nothing(2, 2, 3, 3)
    run(plan_maxpool2d(x.shape, 3, 2), x, y)
    assert np.array_equal(y, ref.maxpool2d(x, 3, 2), equal_nan=True)
    x[0, 0, 1, 2], dy, dx = np.nan, numbers(*y.shape), nothing(*x.shape)
    run(plan_maxpool2d_backward(x.shape, 3, 2), dy, x, dx)  # the first NaN takes the gradient
    equal(dx, ref.maxpool2d_backward(dy, x, 3, 2))


@pytest.mark.parametrize("shape", [*IMAGES, (16, 2, 16, 16)], ids=str)
def test_bias_relu_and_pooling_in_one(shape):
    x, b = halves(*shape), halves(shape[1])
    biased = x + b[:, None, None]
    wanted = ref.maxpool2d(ref.relu(biased))
    y, dy, plan = nothing(wanted.size), numbers(*wanted.shape), plan_bias_relu_pool(shape)
    run(plan.forward, x.ravel(), b, y)
    assert (y.reshape(wanted.shape) == wanted).all()
    dx, db = nothing(x.size), np.zeros_like(b)
    run(plan.backward, dy.ravel(), x.ravel(), b, dx, db)
    wanted = ref.relu_backward(ref.maxpool2d_backward(dy, ref.relu(biased)), biased)
    equal(dx.reshape(shape), wanted)
    equal(db, wanted.sum((0, 2, 3)), atol=1e-4)


@pytest.mark.parametrize("at", [(0, 1), (1, 2), (3, 3)], ids=str)  # taps 1, 2 and 3
def test_nan_goes_through_bias_relu_and_pooling(at):
    x, b = np.abs(numbers(1, 2, 4, 4)), numbers(2)
    x[(0, 0, *at)] = np.nan
    x[0, 1, :2, :2] = np.nan  # of several NaN the first takes the gradient
    biased = x + b[:, None, None]
    wanted = ref.maxpool2d(ref.relu(biased))
    y, dx, db = nothing(wanted.size), nothing(x.size), np.zeros_like(b)
    plan, dy = plan_bias_relu_pool(x.shape), numbers(*wanted.shape)
    run(plan.forward, x.ravel(), b, y)
    np.testing.assert_array_equal(y.reshape(wanted.shape), wanted)
    run(plan.backward, dy.ravel(), x.ravel(), b, dx, db)
    equal(dx.reshape(x.shape), ref.maxpool2d_backward(dy, ref.relu(biased)) * ~(biased <= 0))


def test_what_cannot_be_pooled_is_refused():
    for size, stride, words in [(3, 1, "does not fit"), (0, 1, "size is 0"), (1, 0, "stride is 0")]:
        with pytest.raises(ValueError, match=words):
            plan_maxpool2d((1, 1, 2, 2), size, stride)
    with pytest.raises(ValueError, match="does not fit"):
        plan_bias_relu_pool((1, 1, 1, 4))
    with pytest.raises(ValueError, match="stride 4294967296 or padding 0 is 2"):
        plan_maxpool2d((1, 1, 2, 2), 2, 2**32)
    with pytest.raises(ValueError, match="maxpool2d: no block has work: let all sizes"):
        plan_maxpool2d((0, 1, 2, 2))


# Traffic: each kernel at a size that fills its tiles. (plan, arguments, accesses of 16 bytes only)
def traffic_cases() -> dict[str, tuple[Plan, tuple, bool]]:
    n, (N, K), image = 2 * TILE, (2, 4096), (2, 2, 16, 16)
    x, table = partial(numbers, n), partial(numbers, N, K)
    fused, pixels, pooled = plan_bias_relu_pool(image), numbers(1024), numbers(256)
    labels, b = np.arange(N), numbers(2)
    return {
        "copy": (plan_copy(n), (x(), x()), True),
        "relu": (plan_relu(n), (x(), x()), True),
        "relu_backward": (plan_relu_backward(n), (x(), x(), x()), True),
        "sgd_momentum": (plan_sgd_momentum(n), (x(), x(), x(), LR, MOMENTUM), True),
        "row_sum": (plan_row_sum(N, K), (table(), numbers(N)), False),
        "softmax": (plan_softmax(N, K), (table(), table()), True),
        "cross_entropy": (plan_cross_entropy(N, K), (table(), labels, numbers(N)), False),
        "cross_entropy_backward": (
            plan_cross_entropy_backward(N, K),
            (numbers(1), table(), labels, table()),
            False,
        ),
        "column_sum": (plan_column_sum(64, 64), (numbers(64, 64), numbers(64)), False),
        "bias_add": (plan_bias_add(2, 64, 64), (x(), numbers(64), x()), False),
        "maxpool2d": (plan_maxpool2d(image), (numbers(*image), numbers(2, 2, 8, 8)), False),
        "maxpool2d_backward": (
            plan_maxpool2d_backward(image),
            (numbers(2, 2, 8, 8), numbers(*image), numbers(*image)),
            False,
        ),
        "bias_relu_pool": (fused.forward, (pixels, b, pooled), False),
        "bias_relu_pool_backward": (
            fused.backward,
            (pooled, pixels, b, pixels.copy(), np.zeros(2, np.float32)),
            False,
        ),
    }


CASES = traffic_cases()


@pytest.mark.parametrize("name", CASES)
def test_no_hazards(name):
    plan, arguments, _ = CASES[name]
    found = profile(plan.kernel, plan.grid, plan.block, *arguments)
    assert found.name == name and found.completed and found.hazards == []


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[2]])
def test_every_byte_moves_once_in_full_accesses(name):
    plan, arguments, _ = CASES[name]
    n = profile(plan.kernel, plan.grid, plan.block, *arguments).counters
    arrays = {"copy": 2, "relu": 2, "relu_backward": 3, "sgd_momentum": 5, "softmax": 2}[name]
    moved = arrays * arguments[0].nbytes  # sgd reads three arrays and writes two
    assert n["global_load_sectors_per_request"] == 16  # 32 lanes of 16 bytes: four per 128 bytes
    assert n["global_store_sectors_per_request"] == 16
    assert n["traffic_bytes"] == n["compulsory_bytes"] == n["global_bytes"] == moved
    assert n["bank_conflicts"] == n["flops_fp64"] == 0
    assert n["divergent_branches"] == (64 if name == "softmax" else 0)  # lane 0 of each warp


def test_sums_and_the_fused_layer_read_each_byte_once():
    plan, (x, y), _ = CASES["row_sum"]
    n = profile(plan.kernel, plan.grid, plan.block, x, y).counters
    assert n["global_load_sectors_per_request"] == 16
    assert 32 * n["global_load_sectors"] == n["global_load_bytes"] == x.nbytes
    plan, (x, b, y), _ = CASES["bias_relu_pool"]
    n = profile(plan.kernel, plan.grid, plan.block, x, b, y).counters
    bias = n["global_load_requests"] // 3  # one of three loads
    assert 32 * (n["global_load_sectors"] - bias) == x.nbytes
    assert n["global_store_bytes"] == y.nbytes
    assert n["global_store_sectors"] == 2 * n["unique_store_sectors"]  # every second element


# Compiled: the types of each kernel's arguments.
A, M, T, LABELS = "float32[::1]", "float32[:,::1]", "float32[:,:,:,::1]", "int64[::1]"
TYPES = {
    "copy": (A, A),
    "relu": (A, A),
    "relu_backward": (A, A, A),
    "sgd_momentum": (A, A, A, "float32", "float32"),
    "bias_add": (A, A, A),
    "row_sum": (M, A),
    "column_sum": (M, A),
    "softmax": (M, M),
    "cross_entropy": (M, LABELS, A),
    "cross_entropy_backward": (A, M, LABELS, M),
    "maxpool2d": (T, T),
    "maxpool2d_backward": (T, T, T),
    "bias_relu_pool": (A, A, A),
    "bias_relu_pool_backward": (A, A, A, A, A),
}
VECTORS = {"copy": 4, "relu": 4, "relu_backward": 8, "sgd_momentum": 12, "softmax": 4}
VECTORS |= {"row_sum": 4, "bias_relu_pool": 2, "bias_relu_pool_backward": 2}  # at least so many


ARCHS = [(name, "sm_75") for name in TYPES]
ARCHS += [(name, "sm_90") for name in ("copy", "row_sum", "softmax", "bias_relu_pool")]


@pytest.mark.parametrize(("name", "arch"), ARCHS)
def test_what_the_compiler_makes_of_it(name, arch):
    pytest.importorskip("numba_cuda")
    plan, _, _ = CASES[name]
    report = compile_report(plan.kernel, f"void({', '.join(TYPES[name])})", arch)
    assert (report.spills, report.local_bytes, report.fp64) == (0, 0, 0)
    assert report.lint == []
    assert report.vector_loads >= VECTORS.get(name, 0)
    assert report.registers <= 80 and occupancy(report, plan.block).blocks > 0
    if name in VECTORS:  # loads are under way before a value is used: a thread waits once
        code = (line.split()[0] for line in report.ptx.splitlines() if line.strip())
        code = [c for c in code if ".f32" in c and not c.startswith(("mov", ".param", "ld.param"))]
        first = code.index("ld.global.v4.f32")
        together = code[first : first + min(4, VECTORS[name])]
        assert set(together) == {"ld.global.v4.f32"}


ROW_PLANS = [(plan_softmax, 16383), (plan_softmax, 16385), (plan_cross_entropy, 16383)]
ROW_PLANS += [(plan_cross_entropy_backward, K) for K in (8191, 16384, 16385, 20000)]


WIDEST = "tests/gpu/layers/test_layer_kernels.py::test_the_widest_blocks_find_registers"


@pytest.mark.parametrize(("plan_for", "K"), others_by_night(ROW_PLANS, WIDEST, by_day=3))
def test_the_widest_blocks_find_registers(plan_for, K):
    """Of which an SM has 65,536; a launch that needs more fails. Kernels of rows that 4 divides,
    or not, and that fit into registers, or not, each with its widest block."""
    pytest.importorskip("numba_cuda")
    plan = plan_for(9, K)
    types = TYPES[plan.kernel.__name__]
    report = compile_report(plan.kernel, f"void({', '.join(types)})", "sm_75")
    assert occupancy(report, plan.block).blocks > 0 and report.spills == report.fp64 == 0


def test_plans_fit_the_length_of_the_rows():
    """16 elements for each lane, as long as a block has lanes; eight short rows share a block."""
    blocks = {K: plan_softmax(9, K).block for K in (1, 512, 513, 4096, 16384, 20000)}
    assert blocks == {
        1: (32, 8),
        512: (32, 8),
        513: (64, 1),
        4096: (256, 1),
        16384: (1024, 1),
        20000: (1024, 1),
    }
    backward = {K: plan_cross_entropy_backward(9, K).block[0] for K in (4096, 16384, 16385)}
    assert backward == {4096: 256, 16384: 1024, 16385: 512}
    assert plan_softmax(9, 512).grid == 2 and plan_softmax(9, 513).grid == 9
    assert plan_softmax(9, 4096).kernel is plan_softmax(7, 4096).kernel  # compiled once


def wrong(plan: Callable, old: object, new: object, module: object, monkeypatch) -> Plan:
    """The plan of a kernel in which a device function is replaced."""
    made = softmax._parts, softmax._softmax, softmax._cross_entropy
    for cached in (reductions.row_access, reductions._row_sum, *made):
        cached.cache_clear()
    monkeypatch.setattr(module, old, new)
    return plan


def test_a_sum_without_its_last_exchange_is_noticed(monkeypatch):
    """The tests above can fail: warp_max in the place of warp_sum."""
    plan = wrong(plan_row_sum, "warp_sum", reductions.warp_max, reductions, monkeypatch)
    with pytest.raises(AssertionError):
        equal_rows(plan(5, 10), numbers(5, 10))
    monkeypatch.undo()
    reductions._row_sum.cache_clear()
    equal_rows(plan_row_sum(5, 10), numbers(5, 10))


def equal_rows(plan: Plan, x: np.ndarray) -> None:
    run(plan, x, y := nothing(len(x)))
    equal(y, x.sum(1))
