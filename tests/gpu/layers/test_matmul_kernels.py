"""The matmul ladder and the register tile: right for all sizes, and as cheap as each rung says."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labkit.gpu import compile_report, cuda, profile
from labkit.gpu.kernels.linear import plan_linear, plan_linear_dw, plan_linear_dx
from labkit.gpu.kernels.matmul import LADDER, plan_matmul
from labkit.gpu.kernels.tile_factory import register_tile
from labkit.gpu.kernels.tile_sizes import grid_and_block
from labkit.gpu.kernels.vectors import load, store
from labkit.reference import linear, linear_backward
from tests.night import others_by_night

MATRIX = "float32[:, ::1]"
SIGNATURE = f"void({MATRIX}, {MATRIX}, {MATRIX}, int64, int64, int64)"
sizes = st.integers(1, 70) | st.sampled_from([64, 128, 129, 132])


def matrices(M, N, K, seed=0):
    """a[M, K], b[K, N], and a c[M, N] that is nothing yet."""
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((M, K), (K, N)))
    return a, b, np.full((M, N), np.nan, np.float32)


def agrees(c, a, b):
    exact, scale = a.astype(float) @ b, np.abs(a).astype(float) @ np.abs(b)
    return (np.abs(c - exact) <= 1e-6 * scale + 1e-12).all()


@pytest.mark.parametrize("rung", LADDER)
@settings(max_examples=8)
@example(1, 1, 1)
@example(128, 132, 36)  # whole float32x4
@example(131, 67, 9)  # primes, and more than one block
@example(5, 130, 7)
@given(M=sizes, N=sizes, K=st.integers(1, 40))
def test_each_rung_is_right_for_any_size(rung, M, N, K):
    a, b, c = matrices(M, N, K)
    plan = plan_matmul(M, N, rung)
    plan.kernel[plan.grid, plan.block](a, b, c, M, N, K)
    assert agrees(c, a, b)


def count(rung, M, N, K):
    a, b, c = matrices(M, N, K)
    seen = profile(*plan_matmul(M, N, rung), a, b, c, M, N, K)
    assert not seen.hazards and agrees(c, a, b)
    return seen.counters


def test_each_rung_has_less_traffic_than_the_one_before():
    M = N = 128
    traffic = [count(rung, M, N, 32)["global_load_sectors"] for rung in LADDER]
    assert traffic == sorted(traffic, reverse=True)
    loads = N * M * 32 // 32  # warp-wide multiply-adds
    assert traffic[0] == loads * (16 + 1)  # lanes of 16 rows of a; two neighbours in b
    assert traffic[1] == loads * (1 + 4)
    assert traffic[2] == 4 * 4 * (32 * 32 + 32 * 32) // 8  # each of 16 blocks: a row and a column
    assert traffic[-1] == (128 * 32 + 32 * 128) // 8  # one block: everything once


@pytest.mark.parametrize("size", [(256, 128, 40), (200, 160, 36), (129, 130, 33)])
def test_the_tuned_kernel_has_no_bank_conflicts_and_no_barrier_too_many(size):
    M, N, K = size
    n, blocks, tiles = count("tuned", M, N, K), -(-M // 128) * -(-N // 128), -(-K // 8)
    assert (n["bank_conflicts"] == 0 and n["divergent_branches"] == 0) or size[2] % 4 or M % 128
    assert n["shared_load_conflicts"] == 0 and n["shared_store_conflicts"] == 0
    assert n["barriers"] == blocks * 8 * (tiles + 1)
    assert n["shared_load_requests"] == blocks * 8 * tiles * 8 * 4
    assert n["flops_fp32"] == blocks * tiles * 2 * 128 * 128 * 8
    if not K % 4:
        assert n["global_load_bytes"] == 4 * (-(-N // 128) * M * K + -(-M // 128) * N * K)
        assert n["global_load_sectors"] * 32 == n["global_load_bytes"] or K % 8
        assert n["global_store_requests"] == blocks * 8 * 16 or M % 128


def test_the_2d_tile_has_the_conflicts_that_the_next_rung_removes():
    assert count("2-D register tile", 128, 128, 8)["shared_load_conflicts"] > 0
    assert count("vector loads", 128, 128, 8)["shared_load_conflicts"] == 0


RUNGS = [("2-D register tile", "sm_75"), *((rung, "sm_90") for rung in LADDER)]
HIDDEN = "tests/gpu/layers/test_matmul_kernels.py::test_the_compiler_finds_nothing_that_numba_hides"


@pytest.mark.parametrize(("rung", "arch"), others_by_night(RUNGS, HIDDEN, by_day=3))
def test_the_compiler_finds_nothing_that_numba_hides(rung, arch):
    pytest.importorskip("numba_cuda")
    report = compile_report(LADDER[rung].kernel, SIGNATURE, arch)
    assert (report.spills, report.fp64, report.local_bytes) == (0, 0, 0)
    assert not any("wrapped round" in sentence for sentence in report.lint)
    assert report.registers * np.prod(LADDER[rung].block) <= 65536 // 2  # two blocks fit
    if "tile" in rung.split()[-1] or rung in ("vector loads", "tuned"):
        assert report.accesses["ld.shared.v4"] >= 4
    if rung in ("vector loads", "tuned"):
        assert not report.lint
        assert report.accesses["ld.global.v4"] >= 2 and report.accesses["st.global.v4"] == 16
        assert report.registers <= 128


def test_an_unknown_rung_is_a_sentence():
    with pytest.raises(ValueError, match="no rung 'fast', but naive, coalesced, "):
        plan_matmul(1, 1, "fast")


@pytest.mark.parametrize("size", [(-1, 4), (4, -200), (0, 4)], ids=str)
def test_a_matrix_without_elements_is_a_sentence(size):
    for plan in (plan_matmul, lambda *size: plan_linear(*size, 3)):
        with pytest.raises(ValueError, match="no block has work: let all sizes be 1 or more"):
            plan(*size)


@cuda.jit(device=True)
def load_turned(array, row, column):
    return load(array, column, row)


@cuda.jit(device=True)
def store_added(c, m, n, value):
    cuda.atomic.add(c, (m, n), value)


@cuda.jit(device=True)
def store_scaled(c, m, n, value, d):
    c[m, n] = value * d[n]


TILES = [((64, 32, 16),), ((32, 32, 8),), ((64, 64, 8),), ((128, 128, 8),), ((32, 64, 8),)]
SIZES = (
    "tests/gpu/layers/test_matmul_kernels.py::test_tiles_of_all_sizes_with_operands_in_any_order"
)


@pytest.mark.parametrize("tile", others_by_night(TILES, SIZES, by_day=2))
def test_tiles_of_all_sizes_with_operands_in_any_order(tile):
    M, N, K = 45, 83, 27
    a, b, c = matrices(M, N, K)
    loaders, turned = (load, load_turned), (np.ascontiguousarray(a.T), np.ascontiguousarray(b.T))
    for a_turned, b_turned in ((0, 0), (1, 0), (0, 1), (1, 1)):
        kernel = register_tile(
            loaders[a_turned],
            loaders[b_turned],
            store,
            tile,
            load_a_along="km"[a_turned],
            load_b_along="nk"[b_turned],
        )
        c[:] = np.nan
        given = turned[0] if a_turned else a, turned[1] if b_turned else b
        seen = profile(kernel, *grid_and_block(M, N, tile), *given, c, M, N, K)
        assert agrees(c, a, b) and not seen.hazards
        assert seen.counters["shared_load_conflicts"] == 0


def test_splits_of_k_add_up_and_an_extra_argument_reaches_the_store():
    M, N, K = 40, 50, 100
    a, b, c = matrices(M, N, K)
    tile = 32, 32, 8
    for splits in (1, 3, 13, 20):  # 20: more than there are tiles along k
        c[:] = 0
        kernel = register_tile(load, load, store_added, tile)
        seen = profile(kernel, *grid_and_block(M, N, tile, splits), a, b, c, M, N, K)
        assert agrees(c, a, b) and not seen.hazards
    d = np.arange(N, dtype=np.float32)
    kernel = register_tile(load, load, store_scaled, tile, bias=True)
    kernel[grid_and_block(M, N, tile)](a, b, d, c, M, N, K)
    assert agrees(c, a, b * d)


def test_a_tile_that_does_not_split_over_the_threads_is_a_sentence():
    odd = ((48, 32, 8), None), ((128, 128, 4), None), ((64, 64, 8), 100), ((0, 0, 0), None)
    for tile, block in (*odd, ((64.0, 64.0, 8), None), ((-64, 64, 8), None)):
        with pytest.raises(ValueError, match="columns each: choose BM and BN of 32"):
            register_tile(load, load_turned, store, tile, block)  # a pair that was not kept
    for along in ({"load_a_along": "q"}, {"load_b_along": "m"}):
        with pytest.raises(ValueError, match=r"load_a_along, .*, may be 'm' or 'k', .* 'n' or 'k'"):
            register_tile(load, load, store, **along)


@settings(max_examples=6)
@example(1, 1, 1)
@given(N=sizes, K=st.integers(1, 40), D=sizes)
def test_the_linear_layer_and_its_gradients(N, K, D):
    rng = np.random.default_rng(N)
    shapes = (N, D), (K, D), (K,), (N, K)
    x, w, b, dy = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
    y, dx, dw = (np.full(shape, np.nan, np.float32) for shape in ((N, K), (N, D), (K, D)))
    for plan, arguments in (
        (plan_linear(N, K, D), (x, w, b, y, N, K, D)),
        (plan_linear_dx(N, D, K), (dy, w, dx, N, D, K)),
        (plan_linear_dw(K, D, N), (dy, x, dw, K, D, N)),
    ):
        plan.kernel[plan.grid, plan.block](*arguments)
    exact = [array.astype(float) for array in (dy, x, w)]
    np.testing.assert_allclose(y, linear(*exact[1:], b.astype(float)), rtol=1e-4, atol=1e-4)
    for found, wanted in zip((dx, dw), linear_backward(*exact), strict=False):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


LINEAR = {  # with tiles of 64 x 64
    "linear": plan_linear(1024, 1024, 1024),
    "linear_dx": plan_linear_dx(256, 4096, 128),
    "linear_dw": plan_linear_dw(1024, 1024, 128),
}


LAYER = "tests/gpu/layers/test_matmul_kernels.py::test_what_the_compiler_makes_of_the_linear_layer"


@pytest.mark.parametrize("name", others_by_night([*LINEAR], LAYER))
def test_what_the_compiler_makes_of_the_linear_layer(name):
    pytest.importorskip("numba_cuda")
    bias = ", float32[::1]" * (name == "linear")
    signature = f"void({MATRIX}, {MATRIX}{bias}, {MATRIX}, int64, int64, int64)"
    plan = LINEAR[name]
    report = compile_report(plan.kernel, signature, "sm_90")
    assert (report.spills, report.fp64, report.local_bytes, report.lint) == (0, 0, 0, [])
    assert report.registers <= 168 and report.fma == 8 * 64
    assert report.accesses["ld.shared.v4"] == 8 * 4
    assert plan.block == 64 and plan.kernel.__name__ == name


def test_a_block_of_more_threads_than_the_kernel_was_made_for_is_refused():
    a, b, c = matrices(4, 4, 4)
    kernel = register_tile(load, load, store, (32, 32, 8))
    with pytest.raises(RuntimeError, match="has 128 threads, and launch_bounds allows 64"):
        profile(kernel, 1, 128, a, b, c, 4, 4, 4)
