"""This lesson: what it prints is counted, from the functions and matrices that it shows."""

import re
from math import ceil

import numpy as np
import pytest

from labkit import check, figures
from labkit.hardware import machine
from labkit.tpu import SystolicArray
from labkit.tpu.matrix_unit import pictures
from tests.notebooks.running import Run

STREAM, WATCH = "def stream(", "Stepper(run"
LAYERS, NETWORK, TABLE = "def product(", "all logits within", "gives the same on"
BUFFERS, BATCH, FLOWS = "double_buffer=d", "tpu_v5e", "'ws':>9"
GUESSES, TRIAL = "figures.guesses", "As it is:"
SIZES = {  # M, K, N of 32 images
    "conv1": (32 * 1024, 27, 32),
    "conv2": (32 * 256, 288, 64),
    "fc1": (32, 4096, 128),
    "fc2": (32, 128, 10),
}


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "1_a_product_in_a_grid")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def rows(said):
    """{layer: numbers} of the lines that begin with a layer's name."""
    lines = (line.split(maxsplit=1) for line in said.splitlines())
    return {line[0]: numbers(line[1]) for line in lines if line and line[0] in SIZES}


def tiled(load, stream, rows, cols, side):
    """One after the other: `rows` x `cols` in tiles of side x side."""
    return (load + stream + 2 * side - 2) * ceil(rows / side) * ceil(cols / side)


def own(a, psum, w, feed):
    """A cycle as the text has it, in loops."""
    right, down = np.zeros_like(a), np.zeros_like(psum)
    for r, c in np.ndindex(w.shape):
        right[r, c] = a[r, c - 1] if c else feed[r]
        down[r, c] = right[r, c] * w[r, c] + (psum[r - 1, c] if r else 0)
    return right, down


def halves(a, psum, w, feed):
    """Wrong in every product."""
    right, _ = own(a, psum, w, feed)
    return right, np.vstack([0 * psum[:1], psum[:-1]]) + right * w / 2


def test_the_product_comes_out_of_the_learners_step(lesson):
    assert "after 10 cycles (counted)\na product: True" in lesson.printed[lesson.cell(STREAM)]
    said, _ = lesson.again(STREAM, systolic_step=own)
    assert "your own, after 10 cycles (counted)\na product: True" in said
    said, _ = lesson.again(STREAM, systolic_step=check("tpu.systolic_step", halves))
    assert "by your skew and our systolic_step" in said and "a product: True" in said
    said, _ = lesson.again(STREAM, systolic_step=halves)
    assert "a product: False" in said
    said, _ = lesson.again(STREAM, skew=lambda a: np.pad(a, ((0, a.shape[1] - 1), (0, 0))))
    assert "a product: False" in said, "fed without a skew"


def test_the_trace_is_that_of_the_shown_matrices_and_is_compared(lesson, monkeypatch):
    assert numbers(lesson.printed[lesson.cell(WATCH)])[:4] == [10, 10, 14, 36], "60 of 12 * 14"
    shown, seen = [], []
    monkeypatch.setattr(pictures, "picture", lambda run, *cycles: seen.append((run, cycles)))
    monkeypatch.setattr(
        "labkit_lessons.tpu.a_product_in_a_grid.stepper.Stepper.__init__",
        lambda _, run, *a: shown.append(run),
    )
    a, w = np.arange(10).reshape(5, 2), np.arange(6).reshape(2, 3) - 4
    _, namespace = lesson.again(WATCH, a=a, w=w)
    assert shown == [namespace["run"]] == [seen[0][0]]
    np.testing.assert_array_equal(namespace["run"].result, a @ w)
    assert seen[0][1] == (-1, 0, 3, 6), "of the cycles -2 to 5 + 2 + 3 - 3"
    history = [psum.copy() for psum in lesson.namespace["history"]]
    history[3][1, 1] += 1
    said, _ = lesson.again(WATCH, stream=lambda a, w: (a @ w, history))
    assert numbers(said)[:2] == [9, 10]


def test_text_picture_and_stepper_count_from_the_first_number(lesson):
    """The text says that a[0, 0] enters in cycle 0, and that the last cell begins in cycle 5."""
    history, seen = lesson.namespace["history"], lesson.namespace["run"]
    cycles = dict(zip(pictures.numbering(seen), seen.trace, strict=True))
    assert list(cycles) == list(range(-4, 10)) and len(history) == 10
    a = lesson.namespace["a"]
    entering = {t: cycle.left for t, cycle in cycles.items()}
    assert not any(entering[t] for t in range(-4, 0))
    assert entering[0] == {0: a[0, 0]} and entering[1] == {0: a[1, 0], 1: a[0, 1]}
    begins = [t for t, cycle in cycles.items() if cycle.active[-1, -1]]
    assert begins[0] == 5


def test_the_network_goes_through_the_learners_grid(lesson):
    assert "within 0.001: True" in lesson.printed[lesson.cell(NETWORK)]
    steps, real = [], lesson.namespace["systolic_step"]
    rows = {"implicit_rows": lesson.namespace["implicit_rows"]}

    def counting(a, psum, w, feed):
        steps.append(w.size)
        return real(a, psum, w, feed)

    said, _ = lesson.again(STREAM, LAYERS, NETWORK, systolic_step=counting, **rows)
    assert "within 0.001: True" in said and "13 of 16" in said
    conv1, conv2 = 16 * (1024 + 27 + 32 - 2), 16 * (3 * (256 + 64 - 2) + 288)
    fc1, fc2 = 32 * (16 + 128 + 128 - 2), 16 + 128 + 10 - 2
    assert len(steps) == 10 + conv1 + conv2 + fc1 + fc2, "every tile is streamed"
    said, _ = lesson.again(STREAM, LAYERS, NETWORK, systolic_step=halves_fast, **rows)
    assert "within 0.001: False" in said


def halves_fast(a, psum, w, feed):
    right = np.column_stack([feed, a[:, :-1]])
    return right, np.vstack([0 * psum[:1], psum[:-1]]) + right * (w / 2).astype(w.dtype)


def test_the_convolutions_rows_are_the_learners(lesson):
    rows = lesson.namespace["implicit_rows"]
    seen = []

    def mirrored(x, m, *how, **options):
        seen.append(len(m))
        return rows(x[..., ::-1], m, *how, **options)

    said, _ = lesson.again(LAYERS, NETWORK, implicit_rows=mirrored)
    assert "within 0.001: False" in said
    assert seen == [1024] * 16 + [256] * 16, "an image at a time"


def test_the_table_is_counted(lesson):
    said = lesson.printed[lesson.cell(TABLE)]
    assert said.count("True") == 2
    for name, found in rows(said).items():
        (M, K, N), expected = SIZES[name], []
        for side in (128, 256):
            cycles = tiled(side, M, K, N, side)
            expected += [cycles, round(100 * M * K * N / (side**2 * cycles), 1)]
        assert found == [M, K, N, *expected], name
    said, _ = lesson.again(TABLE, cycles=lambda M, K, N, rows, cols: M * K * N // (rows * cols))
    assert said.count("False") == 2


def test_the_grid_and_not_the_formula_fills_the_table(lesson, monkeypatch):
    real = lesson.namespace["SystolicArray"].schedule

    def twice(grid, M, K, N, *how, **options):
        return real(grid, 2 * M, K, N, *how, **options)

    monkeypatch.setattr(lesson.namespace["SystolicArray"], "schedule", twice)
    said, _ = lesson.again(TABLE)
    assert said.count("False") == 2
    assert rows(said)["fc2"][3] == tiled(128, 64, 128, 10, 128)


def test_the_loading_is_hidden(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: drawn.append((figure, alt)))
    said, _ = lesson.again(BUFFERS)
    for name, (before, after, share) in rows(said).items():
        M, K, N = SIZES[name]
        tiles = ceil(K / 128) * ceil(N / 128)
        assert before == tiled(128, M, K, N, 128)
        assert after == 128 + (tiles - 1) * max(M, 128) + M + 254
        assert share == round(100 * M * K * N / (128**2 * after), 1)
    ((figure, alt),) = drawn
    assert [line.get_xdata()[0] for line in figure.axes[0].lines] == [-32, -32], "loading"
    plain, double = (line.get_ydata() for line in figure.axes[0].lines)
    assert plain.sum() == double.sum() == 96 * 96 * 32, "the same work, and all of it"
    assert (len(plain), len(double)) == (tiled(32, 96, 96, 32, 32), 32 + 3 * 96 + 62)
    assert f"register {len(plain)} cycles, 3 hills; two {len(double)}, one plateau" in alt
    assert plain.max() == double.max() == 1024 and not plain[200:220].any()


def test_the_main_memory_sets_the_batch(lesson):
    """Google's figures of a v5e, and the share of its peak that the rows of a batch allow."""
    said = lesson.printed[lesson.cell(BATCH)].splitlines()
    assert "197 TFLOP/s in bfloat16, 819 GB/s (published)" in said[0]
    ridge = 197e12 / 819e9
    assert f"from {ridge:.0f} FLOP/B on (predicted)" in said[1]
    K = 16_384
    for line, M in zip(said[3:], (8, 32, 128, 256, 1024), strict=True):
        flop, moved = 2 * M * K * K, 2 * K * K + 2 * 2 * M * K
        seconds = max(flop / 197e12, moved / 819e9)
        share = 100 * flop / 197e12 / seconds
        assert numbers(line) == [M, round(flop / moved), round(share)]
    assert 2 * K * K > 128 * 2**20, "more than the memory on the chip of a v5e holds"


def test_the_quiz_asks_what_a_small_batch_waits_for():
    ridge = machine("tpu_v5e").ridge("bf16")
    assert 60 / ridge == pytest.approx(1 / 4, rel=0.01)


def test_the_dataflows_are_counted(lesson):
    for name, found in rows(lesson.printed[lesson.cell(FLOWS)]).items():
        M, K, N = SIZES[name]
        ws, stay = tiled(128, M, K, N, 128), tiled(128, N, K, M, 128)
        out = 128 * ceil(M / 128) * ceil(N / 128)
        tiles = ceil(K / 128) * ceil(N / 128)
        two = 128 + (tiles - 1) * max(M, 128) + M + 254
        assert found[:4] == [ws, stay, tiled(0, K, M, N, 128) + out, two], name
        assert found[4:] == [M, N, K]


def test_the_quiz_asks_where_output_stationary_wins():
    big = SystolicArray(128, 128)
    runs = [big.schedule(8, 4096, 128, flow) for flow in ("os", "ws", "is")]
    spent = [run.cycles + run.drain for run in runs]
    assert spent == sorted(spent) == [4478, 12480, 16320]
    assert big.schedule(8, 4096, 128, double_buffer=True).cycles < spent[0], "so one register"


def test_guesses_meet_counted_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    said, _ = lesson.again(GUESSES)
    M = 100_000
    assert "K = 128: 99.6 %" in said and "K = 129: 50.2 %" in said
    results = [result for _, _, result in drawn[0]]
    share = 100 * M * 129 * 128 / (128**2 * tiled(128, M, 129, 128, 128))
    gain = tiled(128, *SIZES["conv1"], 128) / tiled(256, *SIZES["conv1"], 256)
    assert [float(r) for r in results] == [128, pytest.approx(share), pytest.approx(gain)]
    assert {r.word for r in results} == {"counted"}
    runs = lesson.namespace["runs"] | {"conv1": lesson.namespace["runs"]["conv1"][::-1]}
    lesson.again(GUESSES, runs=runs)
    assert float(drawn[1][2][2]) == pytest.approx(1 / gain)


def test_the_trial_of_c04(lesson):
    said = lesson.printed[lesson.cell(TRIAL)]
    assert "As it is: matmul: a[1,32,16,16] has 4 axes" in said and said.count(": True") == 1
    assert "the image has 8,192 bytes" in said
    cycles = tiled(128, 256, 288, 64, 128)
    matrix = f"{256 * 288:,} bytes, written and read: {2 * 256 * 288:,}"
    assert f"im2col   {cycles:,} cycles, matrix {matrix} (counted)" in said
    assert f"implicit {cycles:,} cycles, matrix 0 bytes, written and read: 0 (counted)" in said
    x, w = lesson.namespace["x8"][0].astype(int), lesson.namespace["w8"].astype(int)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)))
    y = sum(
        np.einsum("kc,chw->khw", w[:, :, r, s], padded[:, r : r + 16, s : s + 16])
        for r, s in np.ndindex(3, 3)
    )
    for made in lesson.namespace["done"].values():
        np.testing.assert_array_equal(made.result[0], y)
    grid = lesson.namespace["big"].conv2d

    class Broken:
        """A grid whose addresses are off by one channel."""

        matmul = lesson.namespace["big"].matmul

        def conv2d(self, x, w, method, **how):
            return grid(np.roll(x, method == "implicit", axis=1), w, method=method, **how)

    said, _ = lesson.again(TRIAL, big=Broken())
    assert ": False" in said
    rows = lesson.namespace["implicit_rows"]
    said, _ = lesson.again(
        TRIAL, implicit_rows=lambda x, *how, **more: rows(x[..., ::-1], *how, **more)
    )
    assert ": False" in said
