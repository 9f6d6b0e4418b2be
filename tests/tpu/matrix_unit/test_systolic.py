"""The systolic array: stepped = vectorised = closed form, exact results, and no shortcut taken."""

import ast
import inspect
import tracemalloc
from itertools import product
from typing import ClassVar

import ml_dtypes
import numpy as np
import pytest

from labkit import reference
from labkit.tpu.matrix_unit import dataflow as flows
from labkit.tpu.matrix_unit import grid, patches, systolic, tiling, vectorised
from labkit.tpu.matrix_unit.closed_form import cycles
from labkit.tpu.matrix_unit.systolic import SystolicArray
from tests.night import others_by_night

KINDS = [("ws", False), ("is", False), ("os", False), ("ws", True)]
BFLOAT16 = ml_dtypes.bfloat16


def draw(rng, *shape, dtype=np.int8):
    """Whole numbers from all of int8, or bfloat16 numbers of very different sizes."""
    if dtype == np.int8:
        return rng.integers(-128, 128, shape).astype(np.int8)
    return (rng.normal(size=shape) * 2.0 ** rng.integers(-12, 12, shape)).astype(BFLOAT16)


def events(dataflow, double_buffer, M, K, N, R, C):
    """The cycle of every useful multiply-add, from where and when its three numbers meet."""
    down, along, stream = {"ws": (K, N, M), "is": (K, M, N), "os": (M, N, K)}[dataflow]
    load = 0 if dataflow == "os" else R
    between = max(stream, R) if double_buffer else load + stream + R + C - 2
    i, j, t = np.indices((down, along, stream)).reshape(3, -1)
    tile = j // C * -(-down // R) + i // R
    return load + tile * between + t + i % R + j % C


def in_order(a, b, depth):
    """a @ b in float32, k ascending within `depth` rows, then over the tiles: one sum at a time."""
    a, b = a.astype(np.float32), b.astype(np.float32)
    out = np.zeros((len(a), b.shape[1]), np.float32)
    for m, n in np.ndindex(*out.shape):
        for k0 in range(0, a.shape[1], depth):
            psum = np.float32(0)
            for k in range(k0, min(k0 + depth, a.shape[1])):
                psum = psum + a[m, k] * b[k, n]
            out[m, n] = out[m, n] + psum
    return out


# --- the three ways to count agree, and the results are exact ---


AGREE = (
    "tests/tpu/matrix_unit/test_systolic.py::"
    "test_stepped_vectorised_and_closed_form_agree_on_1000_shapes"
)


@pytest.mark.parametrize("seed", others_by_night(range(10), AGREE, by_day=3))
def test_stepped_vectorised_and_closed_form_agree_on_1000_shapes(seed):
    rng = np.random.default_rng(seed)
    for case in range(100):
        M, K, N = rng.integers(1, 8, 3).tolist()
        R, C = rng.integers(1, 5, 2).tolist()
        dtype = BFLOAT16 if case % 4 == 3 else np.int8
        a, b, array = (
            draw(rng, M, K, dtype=dtype),
            draw(rng, K, N, dtype=dtype),
            SystolicArray(R, C),
        )
        for flow, double in KINDS[: 4 if case % 4 == 0 else 3]:
            at = f"{flow} double={double} M={M} K={K} N={N} on {R} x {C}"
            step = array.matmul(a, b, flow, double_buffer=double, engine="stepped")
            fast = array.matmul(a, b, flow, double_buffer=double)
            assert step.cycles == fast.cycles == cycles(flow, M, K, N, R, C, double), at
            assert np.array_equal(step.occupancy, fast.occupancy), at
            assert step.result.tobytes() == fast.result.tobytes(), at
            assert step.macs == M * K * N and step.tiles == fast.tiles, at
            if dtype == np.int8:
                assert np.array_equal(step.result, a.astype(int) @ b.astype(int)), at
                assert step.result.dtype == np.int32


@pytest.mark.parametrize("flow, double", KINDS)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 1, 1), (5, 7, 4, 3, 2), (2, 9, 5, 4, 4), (8, 3, 9, 2, 5)]
)
def test_occupancy_is_where_the_numbers_meet(flow, double, sizes):
    M, K, N, R, C = sizes
    expected = np.bincount(events(flow, double, *sizes), minlength=cycles(flow, *sizes, double))
    assert np.array_equal(SystolicArray(R, C).schedule(M, K, N, flow, double).occupancy, expected)


# Cycles that SCALE-Sim 2.0.2 reports for a 32 × 32 array: one less than those that it takes.
SCALE_SIM = {  # (M, N, K): (os, ws, is)
    (32, 32, 32): (93, 125, 125),
    (100, 70, 50): (1343, 1163, 1311),
    (784, 32, 64): (3149, 1755, 6299),
    (10, 20, 15): (76, 103, 113),
}


@pytest.mark.parametrize("sizes", SCALE_SIM)
def test_cycles_of_scale_sim(sizes):
    (M, N, K), array = sizes, SystolicArray(32, 32)
    a, b = np.ones((M, K), np.int8), np.ones((K, N), np.int8)
    for flow, expected in zip(("os", "ws", "is"), SCALE_SIM[sizes], strict=True):
        assert cycles(flow, M, K, N, 32, 32) == array.schedule(M, K, N, flow).cycles == expected + 1
        assert array.matmul(a, b, flow, engine="stepped").cycles == expected + 1


@pytest.mark.parametrize("engine", ["stepped", "vectorised"])
@pytest.mark.parametrize("flow, depth", [("ws", 4), ("is", 4), ("os", 99)])
def test_bfloat16_is_summed_in_the_order_of_the_array(engine, flow, depth):
    rng = np.random.default_rng(3)
    a, b = draw(rng, 7, 11, dtype=BFLOAT16), draw(rng, 11, 6, dtype=BFLOAT16)
    result = SystolicArray(4, 3).matmul(a, b, flow, engine=engine).result
    assert result.dtype == np.float32 and result.tobytes() == in_order(a, b, depth).tobytes()
    assert result.tobytes() != in_order(a, b, 2).tobytes()  # another order shows


def test_infinity_goes_only_where_it_belongs():
    a = np.array([[np.inf, 1], [0, 2], [3, 4]], BFLOAT16)
    b = np.array([[1, 2, 3], [4, 5, 6]], BFLOAT16)
    for (flow, double), engine in product(KINDS, ("stepped", "vectorised")):
        run = SystolicArray(4, 2).matmul(a, b, flow, double_buffer=double, engine=engine)
        assert np.isposinf(run.result[0]).all()
        assert np.array_equal(run.result[1:], [[8, 10, 12], [19, 26, 33]])


def test_int32_sums_wrap_round():
    a = np.full((1, 2**17), -128, np.int8)  # 2**17 products of 2**14: one more than fits
    assert SystolicArray(8, 8).matmul(a, a.T).result.item() == -(2**31)
    assert SystolicArray(8, 8).matmul(a[:, :-1], a[:, :-1].T).result.item() == 2**31 - 2**14


# --- the trace shows registers, and nothing but neighbours ---


def moved(before, after, axis):
    """What came in at the edge, when all other registers hold what their neighbours held."""
    inside = np.s_[:, 1:] if axis else np.s_[1:]
    assert np.array_equal(after[inside], before[:, :-1] if axis else before[:-1])
    return after[:, 0] if axis else after[0]


@pytest.mark.parametrize("flow, double", KINDS)
@pytest.mark.parametrize(
    "sizes", [(4, 4, 4, 4, 4), (5, 6, 7, 3, 2), (2, 7, 5, 4, 3), (1, 1, 1, 2, 3)]
)
def test_every_register_follows_from_its_neighbours(flow, double, sizes):
    M, K, N, R, C = sizes
    rng = np.random.default_rng(sum(sizes))
    a, b = draw(rng, M, K), draw(rng, K, N)
    run = SystolicArray(R, C).matmul(a, b, flow, double_buffer=double, trace=True)
    east, stay = ("b", "a") if flow == "is" else ("a", "b")
    zeros = np.zeros((R, C), int)
    last = {"east": zeros, "stay": zeros, "psum": zeros, "spare": zeros}
    result = np.zeros((M, N), int)
    for cycle in run.trace:
        now = {"east": getattr(cycle, east), "stay": getattr(cycle, stay), "psum": cycle.psum}
        entered = moved(last["east"], now["east"], axis=1)
        assert {r: entered[r] for r in cycle.left} == cycle.left
        assert not np.delete(entered, list(cycle.left)).any()
        added = now["east"] * now["stay"]
        if flow == "os":
            if cycle.phase == "compute":
                assert np.array_equal(now["psum"], last["psum"] + added)
                moved(last["stay"], now["stay"], axis=0)
            else:
                assert not moved(last["psum"], now["psum"], axis=0).any()
        else:
            above = np.vstack([np.zeros(C, int), last["psum"][:-1]])
            assert np.array_equal(now["psum"], above + added * (cycle.phase != "load"))
            if double:
                now["spare"] = cycle.spare
                down = np.vstack([cycle.spare[0], last["spare"][:-1]])
                expected = np.where(cycle.loading, down, last["spare"])
                assert np.array_equal(cycle.spare, expected)
                changed = now["stay"] != last["stay"]
                assert np.array_equal(now["stay"][changed], last["spare"][changed])
            elif cycle.phase == "load":
                assert np.array_equal(
                    moved(last["stay"], now["stay"], axis=0), [*cycle.top.values()]
                )
            else:
                assert np.array_equal(now["stay"], last["stay"])
        assert not (cycle.active & cycle.passing).any()
        for i, j, number in cycle.leaves.values():
            result[i, j] += number
        last = {**last, **now}
    assert np.array_equal(result, a.astype(int) @ b.astype(int))  # put together from what left
    counted = [c for c in run.trace if not (flow == "os" and c.phase == "drain")]
    assert [c.active.sum() for c in counted] == run.occupancy.tolist()
    assert len(run.trace) - len(counted) == run.drain == (R * run.tiles if flow == "os" else 0)


def test_the_trace_of_two_by_two_by_hand():
    a, b = np.array([[1, 2], [3, 4]], np.int8), np.array([[5, 6], [7, 8]], np.int8)
    run = SystolicArray(2, 2).matmul(a, b, trace=True)
    seen = [(c.phase, c.left, c.top, c.leaves, c.psum.tolist()) for c in run.trace]
    assert seen == [
        ("load", {}, {0: 7, 1: 8}, {}, [[0, 0], [0, 0]]),
        ("load", {}, {0: 5, 1: 6}, {}, [[0, 0], [0, 0]]),
        ("compute", {0: 1}, {}, {}, [[5, 0], [0, 0]]),
        ("compute", {0: 3, 1: 2}, {}, {0: (0, 0, 19)}, [[15, 6], [19, 0]]),
        ("compute", {1: 4}, {}, {0: (1, 0, 43), 1: (0, 1, 22)}, [[0, 18], [43, 22]]),
        ("drain", {}, {}, {1: (1, 1, 50)}, [[0, 0], [0, 50]]),
    ]
    assert run.occupancy.tolist() == [0, 0, 1, 3, 3, 1] and run.utilization == 8 / 24


def test_double_buffering_hides_the_loading_and_the_filling():
    array, work = SystolicArray(128, 128), (4096, 512, 512)
    alone, hidden = array.schedule(*work), array.schedule(*work, double_buffer=True)
    assert alone.utilization < 0.92 and hidden.utilization > 0.99
    assert alone.macs == hidden.macs == np.prod(work)
    short = array.schedule(8, 512, 512, double_buffer=True)  # 8 rows do not hide 128 of weights
    assert short.utilization < 8 / 128
    assert (array.schedule(2**14, 129, 128, double_buffer=True).utilization) == pytest.approx(
        129 / 256, rel=0.02
    )


# --- no shortcut ---


def never(*_, **__):
    raise AssertionError("a shortcut")


A, B = draw(np.random.default_rng(0), 5, 6), draw(np.random.default_rng(1), 6, 7)
RIGHT = A.astype(int) @ B.astype(int)


def test_simulation_does_not_use_the_closed_form(monkeypatch):
    honest = {kind: cycles(kind[0], 5, 6, 7, 3, 2, kind[1]) for kind in KINDS}
    monkeypatch.setattr(systolic, "cycles", lambda *_: 1)
    for (flow, double), engine in product(KINDS, ("stepped", "vectorised")):
        run = SystolicArray(3, 2).matmul(A, B, flow, double_buffer=double, engine=engine)
        assert run.cycles == len(run.occupancy) == honest[flow, double]


def test_the_length_of_a_schedule_is_that_of_its_waves(monkeypatch):
    honest, wave = {}, vectorised.wavefront
    for kind in KINDS:
        honest[kind] = SystolicArray(3, 2).schedule(5, 6, 7, *kind).cycles
    monkeypatch.setattr(vectorised, "wavefront", lambda *sizes: np.pad(wave(*sizes), (0, 3)))
    for kind, cycles_ in honest.items():
        run = SystolicArray(3, 2).schedule(5, 6, 7, *kind)
        assert run.cycles == cycles_ + 3 * (1 if kind[1] else run.tiles)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 5, 4), (7, 1, 2), (2, 9, 30)])
def test_a_wavefront_is_the_count_of_the_triples(sizes):
    expected = np.bincount(np.indices(sizes).sum(0).ravel())
    assert np.array_equal(vectorised.wavefront(*sizes), expected)


@pytest.mark.parametrize("dtype", [np.int8, BFLOAT16])
@pytest.mark.parametrize("flow, double", KINDS)
def test_the_stepped_engine_steps_every_cycle_and_multiplies_nothing_else(
    monkeypatch, flow, double, dtype
):
    for name in ("multiply", "wavefront"):
        monkeypatch.setattr(vectorised, name, never)
    for name in ("dot", "matmul", "einsum", "tensordot", "inner", "vdot"):
        monkeypatch.setattr(np, name, never)
    steps, move = [], grid.Grid.move_right
    monkeypatch.setattr(grid.Grid, "move_right", lambda self: (steps.append(1), move(self))[1])
    a, b = A.astype(dtype), B.astype(dtype)  # int8 numbers are exact in bfloat16
    run = SystolicArray(3, 2).matmul(a, b, flow, double_buffer=double, engine="stepped")
    assert np.array_equal(run.result, RIGHT) and len(steps) == run.cycles + run.drain
    code = inspect.getsource(flows) + inspect.getsource(grid)
    nodes = {type(node) for node in ast.walk(ast.parse(code))}
    assert ast.Mult in nodes and ast.MatMult not in nodes


def test_the_vectorised_engine_does_not_step(monkeypatch):
    monkeypatch.setattr(systolic, "Grid", never)
    assert np.array_equal(SystolicArray(3, 2).matmul(A, B).result, RIGHT)


@pytest.mark.parametrize("dtype", [np.int8, BFLOAT16])
@pytest.mark.parametrize("flow", ["ws", "is", "os"])
def test_the_result_comes_out_of_the_registers(monkeypatch, flow, dtype):
    fault, move = iter(range(10**6)), grid.Grid.move_right

    def faulty(self):
        move(self)
        if next(fault) == 6:  # one register, once
            self.psum[0, 0] += 1000

    monkeypatch.setattr(grid.Grid, "move_right", faulty)
    a, b = A.astype(dtype), B.astype(dtype)
    wrong = SystolicArray(3, 2).matmul(a, b, flow, engine="stepped").result - RIGHT
    assert np.array_equal(np.unique(wrong), [0, 1000]) and np.count_nonzero(wrong) == 1


def test_without_delay_lines_the_numbers_do_not_meet(monkeypatch):
    monkeypatch.setattr(grid.Skew, "__call__", lambda skew, given: given)
    run = SystolicArray(3, 2).matmul(A, B, "os", engine="stepped")
    assert not np.array_equal(run.result, RIGHT)


def test_every_tile_has_its_own_occupancy():
    run = SystolicArray(4, 4).schedule(8, 5, 4)  # two tiles, of 4 rows and of 1
    first, second = run.occupancy.reshape(2, -1)
    assert run.tiles == 2 and first.max() == 16 and second.max() == 4
    assert first.sum() == 8 * 4 * 4 and second.sum() == 8 * 1 * 4


# --- convolution ---


@pytest.mark.parametrize("kernel", [(3, 2), (3, 3)])
@pytest.mark.parametrize("stride, padding", [(1, 0), (1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("flow", ["ws", "is", "os"])
def test_convolution_in_both_ways(flow, stride, padding, kernel):
    rng = np.random.default_rng(stride)
    x, w = draw(rng, 2, 3, 9, 5), draw(rng, 5, 3, *kernel)  # P and Q differ
    expected = reference.conv2d(x, w, stride=stride, padding=padding)
    runs = [
        SystolicArray(4, 3).conv2d(x, w, stride, padding, method=m, dataflow=flow, engine=e)
        for m, e in product(("im2col", "implicit"), ("stepped", "vectorised"))
    ]
    for run in runs:
        assert run.result.shape == expected.shape and np.array_equal(run.result, expected)
        assert np.array_equal(run.occupancy, runs[0].occupancy)
    matrix = expected[:, 0].size * w[0].size
    assert [run.buffer_bytes for run in runs] == [2 * matrix, 2 * matrix, 0, 0]


def test_implicit_convolution_reads_one_strip_at_a_time(monkeypatch):
    sizes, get = [], patches.Patches.__getitem__
    monkeypatch.setattr(
        patches.Patches,
        "__getitem__",
        lambda p, at: (sizes.append(get(p, at).shape), get(p, at))[1],
    )
    rng = np.random.default_rng(5)
    x, w = draw(rng, 1, 4, 6, 6, dtype=BFLOAT16), draw(rng, 2, 4, 3, 3, dtype=BFLOAT16)
    implicit = SystolicArray(4, 4).conv2d(x, w, method="implicit")
    assert set(sizes) == {(16, 4)}  # of [16, 36]
    made = SystolicArray(4, 4).conv2d(x, w)
    assert made.buffer_bytes == 2 * 2 * 16 * 36
    assert made.result.tobytes() == implicit.result.tobytes()


def test_implicit_convolution_makes_no_matrix():
    rng = np.random.default_rng(6)
    x, w = draw(rng, 1, 8, 64, 64).astype(np.int32), draw(rng, 4, 8, 3, 3)
    tracemalloc.start()
    try:
        rows = patches.Patches(x, w, 1, 0)
        strip = rows[:, :4]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    M, K = rows.shape
    assert strip.shape == (M, 4) and peak < M * K * x.itemsize / 2


# --- bad input: one sentence ---

I8 = np.ones((2, 3), np.int8)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: SystolicArray(0, 4), "rows is 0; it must be an integer >= 1"),
        (lambda: SystolicArray(4, 2.0), "cols is 2.0; it must be an integer"),
        (lambda: SystolicArray(True, 2), "rows is True"),
        (lambda: SystolicArray(2, 2).matmul(I8, I8), r"a\[2,3\] and b\[2,3\] do not fit: K is 3"),
        (lambda: SystolicArray(2, 2).matmul(I8[0], I8), r"a\[3\] has 1 axes; a\[M,K\] is expected"),
        (lambda: SystolicArray(2, 2).matmul(I8[:0], I8.T), r"a\[0,3\] is empty"),
        (
            lambda: SystolicArray(2, 2).matmul(I8 * 1.0, I8.T),
            r"a\[2,3\] holds float64 and b\[3,2\]",
        ),
        (
            lambda: SystolicArray(2, 2).matmul([[1]], [[2]]),
            "int64.*takes two of int8 or two of bfl",
        ),
        (lambda: SystolicArray(2, 2).matmul(I8, I8.T.astype(BFLOAT16)), "int8 and b.*bfloat16"),
        (lambda: SystolicArray(2, 2).matmul(I8, I8.T, "rs"), "dataflow is 'rs'; use 'ws' or 'is'"),
        (
            lambda: SystolicArray(2, 2).matmul(I8, I8.T, "os", double_buffer=True),
            "dataflow with double_buffer is 'os'; use 'ws'",
        ),
        (lambda: SystolicArray(2, 2).matmul(I8, I8.T, engine="fast"), "engine is 'fast'; use 'vec"),
        (
            lambda: SystolicArray(64, 64).matmul(I8, I8.T, trace=True),
            "2,359,296 register values of a trace are too many: the limit is 200,000",
        ),
        (lambda: SystolicArray(1, 1).schedule(1000, 1000, 1000), "cycles with their occupancy are"),
        (lambda: SystolicArray(2, 2).schedule(0, 1, 1), "M is 0; it must be an integer >= 1"),
        (lambda: cycles("xx", 1, 1, 1, 1, 1), "dataflow is 'xx'; use 'ws'"),
        (lambda: cycles("ws", 1, 1.5, 1, 1, 1), "K is 1.5; it must be an integer"),
        (lambda: cycles("ws", 1, 1, 1, 0, 1), "rows is 0"),
        (
            lambda: SystolicArray(2, 2).matmul(I8, I8.T, double_buffer=3),
            "double_buffer is 3; use False or True",
        ),
        (
            lambda: SystolicArray(2, 2).matmul(I8, I8.T, double_buffer="no", engine="stepped"),
            "double_buffer is 'no'",
        ),
        (
            lambda: SystolicArray(3000, 3000).matmul(I8, I8.T, engine="stepped"),
            "81,000,000,000 register updates are too many",
        ),
        (lambda: SystolicArray(1, 1).schedule(1, 3000, 3000), "9,000,000 tiles are too many"),
        (lambda: SystolicArray(2, 2).schedule(1, 1, 1, "rs"), "dataflow is 'rs'"),
        (lambda: SystolicArray(2, 2).conv2d(I8, I8), r"x\[2,3\] has 2 axes; x\[N,C,H,W\]"),
        (
            lambda: SystolicArray(2, 2).conv2d(I8[None, None], I8[None, None], method="fft"),
            "method is 'fft'; use 'im2col' or 'implicit'",
        ),
        (
            lambda: SystolicArray(2, 2).conv2d(I8[None, None], np.ones((1, 1, 4, 4), np.int8)),
            r"window \[4,4\] does not fit into x\[1,1,2,3\]",
        ),
    ],
)
def test_bad_input_is_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as raised:
        call()
    assert str(raised.value).endswith(".")


def test_a_huge_array_with_little_work_is_counted_at_once():
    run = SystolicArray(10**6, 10**6).matmul(I8, I8.T)
    assert run.cycles == 3 * 10**6 and run.macs == 12


def test_the_drain_is_no_part_of_the_utilization():
    assert SystolicArray(2, 2).schedule(2, 2, 2, "os").utilization == 8 / (2 * 2 * 4)


def test_inputs_are_not_changed():
    a, b = A.copy(), B.copy()
    SystolicArray(3, 2).matmul(a, b, trace=True)
    assert np.array_equal(a, A) and np.array_equal(b, B)


def test_a_run_is_a_sentence():
    run = SystolicArray(3, 2).matmul(A, B, double_buffer=True)
    assert repr(run) == (
        "ws, double-buffered, on 3 × 2: 46 cycles, 8 tiles, 210 useful multiply-adds, "
        "76.1% utilization"
    )


# --- no more work than there must be, counted: its speed is in benchmarks/tpu/systolic.py ---

ELEMENTS = 32 * 32


@pytest.mark.parametrize(("flow", "double"), KINDS)
def test_a_cycle_is_stepped_for_all_elements_at_once(lines_run, flow, double):
    """In whole arrays: a loop over the elements would run 1024 times in every cycle."""
    rng, runs = np.random.default_rng(0), []
    a, b = draw(rng, 64, 64), draw(rng, 64, 64)
    options = dict(double_buffer=double, engine="stepped")

    def step():
        runs.append(SystolicArray(32, 32).matmul(a, b, flow, **options))

    lines = lines_run(step, systolic, flows, grid, tiling)
    assert runs[0].cycles <= lines < 100 * runs[0].cycles < ELEMENTS * runs[0].cycles


@pytest.mark.parametrize(("flow", "double"), KINDS)
def test_a_schedule_takes_a_few_lines_for_a_tile_and_no_more_memory_than_its_answer(
    lines_run, flow, double
):
    runs = []

    def schedule():
        vectorised.wavefront.cache_clear()
        runs.append(SystolicArray(256, 256).schedule(4096, 4096, 4096, flow, double))

    lines = lines_run(schedule, systolic, vectorised, tiling)
    tracemalloc.start()
    schedule()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    run = runs[0]
    assert run.tiles == 256 and run.tiles <= lines < 10 * run.tiles < run.cycles
    assert peak < 2 * run.occupancy.nbytes


class Watched(np.ndarray):
    """Notes in what type its matrix products are computed."""

    types: ClassVar[list[str]] = []

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc is np.matmul:
            self.types += [x.dtype.name for x in inputs]
        plain = [x.view(np.ndarray) if isinstance(x, Watched) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)


def test_whole_numbers_are_multiplied_by_blas(monkeypatch):
    """In float64, which holds the sums exactly. NumPy multiplies integers without BLAS."""
    monkeypatch.setattr(Watched, "types", [])
    rng = np.random.default_rng(0)
    a, b = draw(rng, 50, 40).astype(np.int32), draw(rng, 40, 30).astype(np.int32)
    result = vectorised.multiply(a.view(Watched), b.view(Watched), 16)
    assert np.array_equal(result, a @ b)
    assert Watched.types == ["float64"] * 6  # the two operands of three tiles


def test_a_large_product_is_exact():
    rng = np.random.default_rng(0)
    a, b = draw(rng, 1024, 1024), draw(rng, 1024, 1024)
    rows = rng.integers(0, 1024, 8)
    result = SystolicArray(256, 256).matmul(a, b).result
    assert np.array_equal(result[rows], a[rows].astype(int) @ b.astype(int))
