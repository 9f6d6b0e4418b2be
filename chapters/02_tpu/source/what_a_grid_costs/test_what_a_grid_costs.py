"""This lesson: what it prints is counted, from the functions and sizes that it shows."""

import re
from math import ceil

import numpy as np
import pytest

from labkit import figures
from labkit.hardware import machine
from labkit.tpu import SystolicArray
from tests.notebooks.running import Run

CHECK, TABLE, BUFFERS = "gives the same on", '"at work, %", "256', "cells_at_work"
BATCH, PICTURE, FLOWS = "tpu_v5e", "pictures.dataflows", "gives what the grid counts"
GUESSES, TRIAL = "figures.guesses", "As it is:"
SIZES = {  # M, K, N of 32 images
    "conv1": (32 * 1024, 27, 32),
    "conv2": (32 * 256, 288, 64),
    "fc1": (32, 4096, 128),
    "fc2": (32, 128, 10),
}


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "2_what_a_grid_costs")


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def rows(said):
    """{layer: numbers} of the lines that begin with a layer's name."""
    lines = (line.split(maxsplit=1) for line in said.splitlines())
    return {line[0]: numbers(line[1]) for line in lines if line and line[0] in SIZES}


def tiled(load, stream, rows, cols, side):
    """One after the other: `rows` x `cols` in tiles of side x side."""
    return (load + stream + 2 * side - 2) * ceil(rows / side) * ceil(cols / side)


def close(share):
    """A share of the cells in percent, as a table shows it: with three digits."""
    return pytest.approx(100 * share, rel=0.006)


def test_the_examples_by_hand(lesson):
    cycles = lesson.namespace["cycles"]
    sizes = (np.array([size]) for size in (3, 5, 3))
    assert cycles(*sizes, 2, 2) == 6 * 7 == 42
    run = SystolicArray(2, 2).matmul(np.ones((3, 2), np.int8), np.ones((2, 2), np.int8), trace=True)
    assert run.cycles == 7
    assert [cycle.active[1, 1] for cycle in run.trace] == 4 * [False] + 3 * [True]
    one = (np.array([size]) for size in (1, 4, 2))
    ws, _, os = lesson.namespace["dataflows"](*one, 2, 2)
    assert (ws, os) == (10, 8)
    pixels = 10 * np.arange(4)[:, None] + np.arange(4)
    (row,) = lesson.namespace["implicit_rows"](pixels[None, None], np.array([5]), 2, 2)
    assert row.tolist() == [12, 13, 22, 23]


def test_formula_and_rows_are_compared_with_the_grid_and_im2col(lesson, monkeypatch):
    assert lesson.printed[lesson.cell(CHECK)].count("True") == 3
    said, _ = lesson.again(CHECK, cycles=lambda M, K, N, rows, cols: M * K * N // (rows * cols))
    assert said.count("False") == 2
    rows = lesson.namespace["implicit_rows"]
    mirrored = lambda x, *how, **more: rows(x[..., ::-1], *how, **more)  # noqa: E731
    said, _ = lesson.again(CHECK, implicit_rows=mirrored)
    assert "rows of the matrix: False" in said
    real = lesson.namespace["SystolicArray"].schedule

    def twice(grid, M, K, N, *how, **options):
        return real(grid, 2 * M, K, N, *how, **options)

    monkeypatch.setattr(lesson.namespace["SystolicArray"], "schedule", twice)
    said, names = lesson.again(CHECK)
    assert said.count("False") == 2, "the grid and not the formula is asked"
    assert names["runs"]["fc2"][0].cycles == tiled(128, 64, 128, 10, 128)


def test_the_table_is_counted(lesson):
    found = rows(lesson.printed[lesson.cell(TABLE)])
    assert list(found) == list(SIZES)
    for name, row in found.items():
        (M, K, N), expected = SIZES[name], []
        for side in (128, 256):
            cycles = tiled(side, M, K, N, side)
            expected += [cycles, close(M * K * N / (side**2 * cycles))]
        assert row == [M, K, N, *expected], name


def test_the_loading_is_hidden(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "show", lambda figure, alt: drawn.append((figure, alt)))
    said, _ = lesson.again(BUFFERS)
    assert list(rows(said)) == list(SIZES)
    for name, (before, after, share) in rows(said).items():
        M, K, N = SIZES[name]
        tiles = ceil(K / 128) * ceil(N / 128)
        assert before == tiled(128, M, K, N, 128)
        assert after == 128 + (tiles - 1) * max(M, 128) + M + 254
        assert share == close(M * K * N / (128**2 * after))
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
    assert "197 TFLOP/s, 819 GB/s (published)" in said[0]
    ridge = 197e12 / 819e9
    assert f"from {ridge:.0f} FLOP/B on (predicted)" in said[1]
    K = 16_384
    lines = [numbers(line) for line in said[2:] if re.match(r" *[\d,]+ ", line)]
    for line, M in zip(lines, (8, 32, 128, 256, 1024), strict=True):
        flop, moved = 2 * M * K * K, 2 * K * K + 2 * 2 * M * K
        seconds = max(flop / 197e12, moved / 819e9)
        share = 100 * flop / 197e12 / seconds
        assert line == [M, pytest.approx(flop / moved, rel=0.006), pytest.approx(share, rel=0.006)]
    assert 2 * K * K > 128 * 2**20, "more than the memory on the chip of a v5e holds"


def test_the_quiz_asks_what_a_small_batch_waits_for():
    ridge = machine("tpu_v5e").ridge("bf16")
    assert 60 / ridge == pytest.approx(1 / 4, rel=0.01)


def test_the_dataflows_are_counted(lesson):
    said = lesson.printed[lesson.cell(FLOWS)]
    assert "our dataflows gives what the grid counts: True" in said or "your dataflows" in said
    assert list(rows(said)) == list(SIZES)
    for name, found in rows(said).items():
        M, K, N = SIZES[name]
        ws, stay = tiled(128, M, K, N, 128), tiled(128, N, K, M, 128)
        out = 128 * ceil(M / 128) * ceil(N / 128)
        tiles = ceil(K / 128) * ceil(N / 128)
        two = 128 + (tiles - 1) * max(M, 128) + M + 254
        assert found == [M, N, K, ws, stay, tiled(0, K, M, N, 128) + out, two], name
    real = lesson.namespace["dataflows"]
    said, _ = lesson.again(FLOWS, dataflows=lambda *sizes: real(*sizes)[::-1])
    assert "counts: False" in said


def test_the_picture_shows_one_product_by_three_dataflows(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(
        lesson.namespace["pictures"], "dataflows", lambda t, *runs: shown.append((t, runs))
    )
    lesson.again(PICTURE)
    ((t, runs),) = shown
    assert t == 2 and [run.dataflow for run in runs] == ["ws", "is", "os"]
    results = [run.result.tolist() for run in runs]
    assert results[0] == results[1] == results[2]


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
    assert [float(r) for r in results] == [pytest.approx(share), pytest.approx(gain)]
    assert {r.word for r in results} == {"counted"}
    runs = lesson.namespace["runs"] | {"conv1": lesson.namespace["runs"]["conv1"][::-1]}
    lesson.again(GUESSES, runs=runs)
    assert float(drawn[1][1][2]) == pytest.approx(1 / gain)


def test_the_trial_of_c04(lesson):
    said = lesson.printed[lesson.cell(TRIAL)]
    assert "As it is: matmul: a[1,32,16,16] has 4 axes" in said and said.count(": True") == 1
    assert "The image has 8,192 bytes" in said
    cycles = tiled(128, 256, 288, 64, 128)
    lines = dict(line.split(maxsplit=1) for line in said.splitlines() if " " in line.strip())
    assert numbers(lines["im2col"]) == [cycles, 256 * 288, 2 * 256 * 288]
    assert numbers(lines["implicit"]) == [cycles, 0, 0]
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
