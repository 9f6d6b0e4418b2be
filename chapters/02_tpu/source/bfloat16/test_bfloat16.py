"""Lesson bfloat16: its numbers follow the learner's functions, and agree with torch."""

import re

import ml_dtypes
import numpy as np
import pytest
import torch
from torch.nn import functional

from labkit import check, convnet, figures
from labkit.datasets import cifar10
from labkit.tpu import bfloat16
from labkit_lessons.tpu.bfloat16 import bit_pictures
from tests.notebooks.running import Run

BITS, MILLION, ONES, PARTS = "halves(", "same bits as ml_dtypes", "sum_of_ones(n", "tenth"
NETWORK, ERRORS, TRIAL, CYCLES = (
    "logits, moved",
    "np.linalg.norm",
    "other layout",
    "compile_for_tpu(",
)


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "3_bfloat16")


def truncated(x):
    return (x.view(np.uint32) & 0xFFFF0000).view(np.float32)


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", text.replace(",", ""))]


def test_the_picture_shows_the_bits(lesson):
    said = lesson.printed[lesson.cell(BITS)]
    rows = re.findall(r"(\S+) is ([01]{32}) and becomes ([^;\s]+?)[;.]?(?:\s|$)", said)
    assert len(rows) == 5
    for x, word, value in rows:
        expected = np.float32(x).astype(ml_dtypes.bfloat16)
        assert int(word, 2) == np.float32(x).view(np.uint32)
        assert float(value) == pytest.approx(float(expected), rel=1e-6)
    assert int(rows[3][1][-16:], 2) == 0x8000, "257 is a tie"


def test_the_example_of_rounding_keeps_four_bits_of_eight():
    for word, nearest, upper in ((0x56, 5, 5), (0x5A, 6, 6), (0x58, 6, 6), (0x68, 6, 7)):
        assert (word + 8) >> 4 == upper
        assert (word + 7 + (word >> 4 & 1)) >> 4 == nearest


def test_cycles_follow_the_passes(lesson):
    cycles = lesson.namespace["cycles"]
    assert cycles == {"default": 143_032, "high": 408_206, "highest": 815_804}
    said = lesson.printed[lesson.cell(CYCLES)]
    assert all(f"{n:,}" in said for n in cycles.values())


def test_a_million_numbers_pass_through_the_learners_function(lesson):
    said = lesson.printed[lesson.cell(MILLION)]
    assert "ml_dtypes: True" in said and "0.389 % (counted" in said
    said, namespace = lesson.again(MILLION, round_to_bfloat16=truncated)
    assert "ml_dtypes: False" in said
    assert float(namespace["worst"]) == pytest.approx(100 / 128, rel=0.01)


def test_sums_of_ones_and_the_array(lesson):
    said = lesson.printed[lesson.cell(ONES)].splitlines()
    assert said[0] == "same bits: True"
    assert [numbers(line)[:2] + numbers(line)[3:4] for line in said[1:]] == [
        [128, 128, 128],
        [256, 256, 256],
        [257, 257, 256],
        [1024, 1024, 256],
    ]
    said, namespace = lesson.again(ONES, multiply_accumulate=lambda a, b, narrow: a @ b)
    assert "same bits: False" in said and namespace["sum_of_ones"](1024, narrow=True) == 1024


def test_the_order_of_a_sum_is_part_of_the_answer(lesson, capsys, monkeypatch):
    monkeypatch.setenv("LABKIT_PROGRESS", "off")
    right, rounds = (lesson.namespace[n] for n in ("multiply_accumulate", "round_to_bfloat16"))

    def backwards(a, b, narrow):
        return right(a, b, True) if narrow else right(a[:, ::-1], b[::-1], False)

    def in_float64(a, b, narrow):
        wide = rounds(a).astype(float) @ rounds(b).astype(float)
        return right(a, b, True) if narrow else wide.astype(np.float32)

    for other in (backwards, in_float64):
        assert check("tpu.multiply_accumulate", other) is not other
        assert "Case: wide long" in capsys.readouterr().out


def test_parts_are_counted(lesson):
    said = lesson.printed[lesson.cell(PARTS)]
    tenth = [float(part) for part in re.findall(r"\((-?\d\S*)\)", said.splitlines()[0])]
    assert len(tenth) == 3 and sum(tenth) == pytest.approx(float(np.float32(0.1)), rel=1e-6)
    assert "parts = 1: 0 of 96" in said and "parts = 3: 96 of 96" in said
    said, _ = lesson.again(PARTS, split_bfloat16=lambda x, parts: np.array([truncated(x)] * parts))
    assert "parts = 3: 0 of 96" in said
    a, b = lesson.namespace["a"][:3], lesson.namespace["b_t"][:3].T
    ours = bfloat16.matmul_split(a, b, parts=2)
    np.testing.assert_array_equal(lesson.namespace["bf16x3"](a, b), ours)


def by_torch(narrow):
    """Logits of the 500 photographs; `narrow` rounds every operand as torch does."""
    cut = (lambda x: x.bfloat16().float()) if narrow else (lambda x: x)
    w = {name: torch.tensor(value) for name, value in convnet.load_weights().items()}
    x = torch.tensor(convnet.normalise(cifar10("sample").test.images))
    for layer in ("conv1", "conv2"):
        y = functional.conv2d(cut(x), cut(w[f"{layer}.weight"]), w[f"{layer}.bias"], padding=1)
        x = functional.max_pool2d(y.relu(), 2)
    x = functional.linear(cut(x.flatten(1)), cut(w["fc1.weight"]), w["fc1.bias"]).relu()
    return functional.linear(cut(x), cut(w["fc2.weight"]), w["fc2.bias"]).numpy()


def test_the_network_agrees_with_torch(lesson):
    labels, rows = cifar10("sample").test.labels, lesson.printed[lesson.cell(NETWORK)].splitlines()
    wide, narrow = by_torch(False), by_torch(True)
    right = [(found.argmax(axis=1) == labels).sum() for found in (wide, narrow)]
    changed = (wide.argmax(axis=1) != narrow.argmax(axis=1)).sum()
    assert rows[0].startswith(f"float32       {right[0]} of 500 right")
    assert rows[1].startswith(f"bfloat16      {right[1]} of 500 right (float32: {right[0]})")
    assert f"new class: {changed};" in rows[1]
    moved = abs(wide - narrow).max()
    assert numbers(rows[1])[-1] == pytest.approx(moved, abs=0.006)
    assert 10 * moved < numbers(rows[2])[-1] < 20 * moved, "as the lesson says"
    assert numbers(rows[3])[0] == pytest.approx(abs(wide).max(), abs=0.06)


def test_the_network_uses_the_learners_functions(lesson, monkeypatch):
    def coarse(x):
        return (np.ascontiguousarray(x).view(np.uint32) & 0xFFF80000).view(np.float32)

    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    code = lesson.cell(NETWORK).replace("500", "50").replace("100", "50")
    changed = {"round_to_bfloat16": coarse, "multiply_accumulate": lambda a, b, narrow: a @ b}
    namespace = lesson.before[lesson.cell(NETWORK)] | changed
    namespace["sum_of_ones"] = lambda n, narrow: 7 if (n, narrow) == (1024, True) else 0
    rows = lesson.execute(code, namespace).splitlines()
    assert numbers(rows[1])[-1] > 1 and numbers(rows[2])[-1] == 0
    worst, ones, changed = (float(result) for *_, result in drawn[0])
    assert (worst, ones) == (pytest.approx(0.389, abs=1e-3), 7)
    assert changed == numbers(rows[1].split("class:")[1])[0] > 0


def table(said):
    return {line[:12].strip(): numbers(line[12:]) for line in said.splitlines()[1:]}


def test_errors_are_those_of_the_sums(lesson):
    rows = table(lesson.printed[lesson.cell(ERRORS)])
    a, b = lesson.namespace["a"], lesson.namespace["b_t"].T
    for name, way in {"bfloat16 sum": "bfloat16", "float32 sum": "float32"}.items():
        for K, said in zip((16, 64, 256, 1024, 4096), rows[name], strict=False):
            left, right = a[:, :K].astype(float), b[:K].astype(float)
            error = bfloat16.matmul(a[:, :K], b[:K], way) - left @ right
            assert said == float(f"{(abs(error) / (abs(left) @ abs(right))).max():.0e}")
            assert said < bfloat16.dot_bound(K, way)
        whole = 100 * np.linalg.norm(error) / np.linalg.norm(left @ right)
        assert rows[name][5] == pytest.approx(whole, rel=0.05)
    falling = rows["float32 sum"][:5]
    assert falling == sorted(falling, reverse=True) and rows["bfloat16 sum"][4] > 5e-3
    exact = lambda a, b, narrow: a.astype(float) @ b.astype(float)  # noqa: E731
    said, _ = lesson.again(ERRORS, multiply_accumulate=exact)
    assert table(said)["bfloat16 sum"][:5] == [0] * 5


def test_the_picture_shows_errors_and_bounds(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(bit_pictures, "show", lambda figure, alt: shown.append((figure, alt)))
    errors = lesson.namespace["errors"]
    bit_pictures.errors(lesson.namespace["lengths"], errors)
    figure, alt = shown[0]
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    for name, found in errors.items():
        np.testing.assert_array_equal(drawn[name], found)
        assert f"{name} {found[-1]:.1e}" in alt
    assert len(drawn["bound, bfloat16 sum"]) == 255 and len(drawn["bound, float32 sum"]) == 4096
    assert drawn["bound, float32 sum"][-1] == bfloat16.dot_bound(4096)


def test_the_trial_decides(lesson):
    said = lesson.printed[lesson.cell(TRIAL)]
    assert re.findall(r": (True|False)$", said, re.M) == ["True", "True", "False", "True"]

    def half(a, b, narrow):
        return lesson.namespace["multiply_accumulate"](a / 2, b, narrow)

    said, _ = lesson.again(TRIAL, multiply_accumulate=half)
    assert "within the bound: False" in said


def test_cells_can_run_again_in_any_order(lesson):
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        if NETWORK not in code:  # its six seconds add nothing here
            lesson.execute(code, left_behind)
