"""Lesson convolution_kernels: its solution's numbers come from the kernels that the lesson shows.

A cell runs again with a kernel broken or replaced: what it prints must follow.
"""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

from labkit import convnet, figures
from labkit.datasets import cifar10
from labkit.gpu import compile_report, cuda
from labkit_lessons.gpu.convolution_kernels import counts, feature_pictures
from tests.notebooks.running import Run

PLANTED = Path(__file__).with_name("planted.py")
PLACE, FIRST_LAYER = "def show_place", "feature_maps("
TILED, TABLE, GUESSES, ROOF = "def implicit_gemm", "traffic_rows", "figures.guesses", "roofline("


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "8_convolution_kernels")


@pytest.fixture(scope="module")
def planted():
    return runpy.run_path(str(PLANTED))


def verdicts(said):
    return [word == "True" for word in re.findall("True|False", said)]


@pytest.mark.parametrize("number", [59, 0, 37, 119])
def test_a_place_is_the_row_major_index(lesson, number):
    source = lesson.cell(PLACE).replace("37", str(number))
    said = lesson.execute(source, lesson.before[lesson.cell(PLACE)] | {})
    found = [int(n) for n in re.search(r"\[([\d ]+)\]$", said.strip())[1].split()]
    assert found == list(np.unravel_index(number, (2, 3, 4, 5)))


def test_swapped_indices_are_not_taken_for_a_missing_guard_alone(lesson):
    cell = lesson.cell("gpu.conv2d_kernel")
    swapped = cell.replace("x[n, c, h, v]", "x[n, c, v, h]")
    said = lesson.execute(swapped, lesson.before[cell] | {})
    assert "whether another index belongs on this axis" in " ".join(said.split())


def test_the_picture_shows_the_element_that_the_text_names(monkeypatch):
    shown = []
    monkeypatch.setattr(feature_pictures, "show_grids", lambda *args: shown.append(args))
    feature_pictures.one_element(row=3, column=4)
    caption, _, image, matrix = shown[0]
    assert "tap (1, 1)" in caption and "output (1, 1)" in caption and caption.endswith("20")
    assert matrix.values[3, 4] == 20 == image.values[2, 2]
    assert image.colour[2, 2] == matrix.colour[3, 4] != image.colour[0, 0]
    assert image.values[1:3, 1:3].ravel().tolist() == matrix.values[:, 4].tolist()


def test_the_first_layer_is_the_learners(lesson, planted, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "image_grid", lambda images, *_: shown.append(images))
    said, _ = lesson.again(FIRST_LAYER)
    assert verdicts(said) == [True]
    photo = cifar10("sample").test.images[1]
    exact = convnet.activations(convnet.load_weights(), convnet.normalise(photo[None]))["relu1"][0]
    assert np.array_equal(shown[0][0], photo)
    grey = 255 * exact[2] / exact[2].max()
    assert np.abs(shown[0][3][0] - grey).max() < 2
    said, _ = lesson.again(FIRST_LAYER, conv2d_kernel=planted["conv_flipped"])
    assert verdicts(said) == [False]


UNITS = {"kB": 1e3, "MB": 1e6}


def rows(said):
    """(kernel, count) -> bytes, FLOP/B and FLOP/s of the table's line."""
    found = {}
    for line in said.splitlines():
        words = re.split(r"\s{2,}", line.strip())
        if len(words) == 5 and words[0] in ("direct", "implicit GEMM"):
            number, unit = words[2].split()
            rate, _ = words[4].split()
            found[words[0], words[1]] = float(number) * UNITS[unit], float(words[3]), float(rate)
    return found


def direct_traffic():
    """Bytes in sectors that the direct kernel's warps ask for, from its formula alone."""
    k, p, q = np.unravel_index(np.arange(64 * 256).reshape(-1, 32), (64, 16, 16))
    total = 2 * 4 * len(k) // 2  # sectors of y
    total += sum(len(np.unique(row * 4 // 32)) for row in k)  # of b
    for c, r, s in np.ndindex(32, 3, 3):
        h, v = p + r - 1, q + s - 1
        inside = (h >= 0) & (h < 16) & (v >= 0) & (v < 16)
        for address in ((c * 16 + h) * 16 + v, ((k * 32 + c) * 3 + r) * 3 + s):
            sectors = np.sort(np.where(inside, address * 4 // 32, -1), axis=1)
            new = np.diff(sectors, axis=1, prepend=-1) > 0
            total += int(new.sum())
    return 32 * total


def test_the_traffic_is_that_of_the_kernels(lesson):
    said = lesson.printed[lesson.cell(TABLE)]
    assert verdicts(said) == [True, True]
    flops, peak, bandwidth = 2 * 64 * 256 * 288, 67e12, 4.8e12
    found = rows(said)
    assert len(found) == 6
    for moved, intensity, rate in found.values():
        assert intensity == pytest.approx(flops / moved, rel=0.01)
        assert 1e12 * rate == pytest.approx(min(peak, flops / moved * bandwidth), rel=0.01)
    direct, implicit = (counts.moved(lesson.namespace[name]) for name in ("direct", "implicit"))
    x, w, b, y = 32 * 256, 64 * 288, 64, 64 * 256
    assert direct["perfect cache"] == implicit["perfect cache"] == 4 * (x + w + b + y)
    inside = 46**2  # of 16 rows x 3 taps, and of columns, those not in the frame
    assert direct["asked"] == 4 * (2 * 64 * 32 * inside + y)
    tiles = 8 * 64 * 288 + 2 * 32 * inside  # w once per 32 outputs, x once per 32 channels
    assert implicit["asked"] == 4 * (tiles + y)
    assert direct["no cache"] == direct_traffic()


def test_the_table_runs_what_it_names(lesson, planted):
    said, _ = lesson.again(TABLE, conv2d_kernel=planted["conv_flipped"])
    assert verdicts(said) == [False, True]

    @cuda.jit(device=True)
    def first_pixel(x, row, col, R, S, stride, padding):
        return x[0, 0, 0, 0]

    cell = lesson.cell(TILED)
    source = cell[cell.index("@cuda.jit") :]  # without the line that fetches `pixel`
    namespace = lesson.before[cell] | {"pixel": first_pixel}
    lesson.execute(source, namespace)
    said, after = lesson.again(TABLE, implicit_gemm=namespace["implicit_gemm"])
    assert verdicts(said) == [True, False]
    one_sector = counts.moved(after["implicit"])["no cache"]
    assert one_sector < counts.moved(lesson.namespace["implicit"])["no cache"]


def test_a_wrong_pixel_is_replaced_by_ours(lesson):
    cell = lesson.cell("gpu.implicit_gemm_gather")
    wrong = cell.replace("return seen(", "return -seen(")
    assert wrong != cell
    namespace = lesson.before[cell] | {}
    lesson.execute(wrong, namespace)
    for code in map(lesson.cell, ("pixel_of(build)", TILED, TABLE)):
        said = lesson.execute(code, namespace)
    assert verdicts(said) == [True, True]


def test_the_guesses_meet_what_was_counted_and_compiled(lesson, monkeypatch):
    shown, climbs = [], []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    monkeypatch.setattr(figures, "roofline", lambda machine, found: climbs.append(found))
    lesson.again(GUESSES, ROOF)
    direct, implicit = (counts.moved(lesson.namespace[name]) for name in ("direct", "implicit"))
    saved = direct["no cache"] / implicit["no cache"]
    assert [(name, result.word) for name, _, result in shown] == [
        ("one division", "compiled"),
        ("tiles", "counted"),
    ]
    assert float(shown[1][2]) == pytest.approx(saved)
    assert climbs[0]["direct"] == pytest.approx(2 * 64 * 256 * 288 / direct["no cache"])
    assert climbs[0]["tile of 64 x 128"] == pytest.approx(21.33, abs=0.01)


def test_the_stored_divisions_are_those_of_the_compiler(lesson, monkeypatch):
    rows = lesson.namespace["divisions"]
    assert {name: float(number) for name, number in rows} == counts.STORED

    def missing(*_):
        raise ImportError

    monkeypatch.setattr(counts, "compile_report", missing)
    rows = counts.division_rows()
    assert {name: float(number) for name, number in rows} == counts.STORED
    assert all("stored" in number.source for _, number in rows)


def test_the_lessons_kernels_compile_for_a_gpu(lesson):
    x, w, b, y = (np.zeros(s, np.float32) for s in [(1, 2, 5, 5), (3, 2, 3, 3), 3, (1, 3, 5, 5)])
    arguments = {"conv2d_kernel": (x, w, b, 1, 1, y)}
    arguments |= {"implicit_gemm": (x, w.reshape(3, 18), b, 3, 3, 1, 1, y)}
    for name, given in arguments.items():
        report = compile_report(lesson.namespace[name], given, "sm_75")
        assert (name, report.spills, report.fp64) == (name, 0, 0)
