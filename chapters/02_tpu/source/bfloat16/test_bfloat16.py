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
from tests.notebooks.running import Run

FIELDS, MILLION, ONES, PARTS = "bfloat16.fields", "same bits as ml_dtypes", "SystolicArray", "tenth"
NETWORK, ERRORS, BOUNDS = "logits, moved", "np.linalg.norm", "bfloat16.dot_bound(int(k)"
TRAINING, EXPLAIN, TRIAL = "updates lost", "first updates", "other layout"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "3_bfloat16")


def truncated(x):
    return (x.view(np.uint32) & 0xFFFF0000).view(np.float32)


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", text.replace(",", ""))]


def test_fields_are_the_bits(lesson):
    for line in lesson.printed[lesson.cell(FIELDS)].splitlines():
        x, *bits, value = re.fullmatch(
            r" *(\S+) becomes ([01]) ([01]+) ([01]+) = (\S+)", line
        ).groups()
        expected = np.float32(x).astype(ml_dtypes.bfloat16)
        assert int("".join(bits), 2) == expected.view(np.uint16)
        assert float(value) == pytest.approx(float(expected), rel=1e-8)


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
    monkeypatch.setattr(figures, "show", lambda figure, alt: shown.append((figure, alt)))
    lesson.again(BOUNDS)
    (figure, alt), errors = shown[0], lesson.namespace["errors"]
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    for name, found in errors.items():
        np.testing.assert_array_equal(drawn[name], found)
        assert f"{name} {found[-1]:.1e}" in alt
    assert len(drawn["bound, bfloat16 sum"]) == 255 and len(drawn["bound, float32 sum"]) == 4096
    assert drawn["bound, float32 sum"][-1] == bfloat16.dot_bound(4096)


def last_loss(h, kept_as, used_as):
    """The last of 300 steps on the lesson's features, the weight kept and used as these types."""
    weights, labels = convnet.load_weights(), cifar10("sample").train.labels[::10]
    kept = weights["fc2.weight"].astype(ml_dtypes.bfloat16).astype(kept_as)
    for _ in range(300):
        y = h @ kept.astype(used_as).astype(float).T + weights["fc2.bias"]
        p = np.exp(y) / np.exp(y).sum(axis=1, keepdims=True)
        slope = (p - np.eye(10)[labels]) / len(h)
        kept = (kept.astype(float) - 0.002 * slope.T @ h).astype(np.float32).astype(kept_as)
    return -np.log(p[np.arange(len(h)), labels]).mean()


def test_three_ways_to_keep_a_weight(lesson):
    rows = lesson.printed[lesson.cell(TRAINING)].splitlines()
    wide, narrow, h = np.float32, ml_dtypes.bfloat16, lesson.namespace["h"].astype(float)
    for row, kinds in zip(rows, [(wide, wide), (wide, narrow), (narrow, narrow)], strict=True):
        assert numbers(row.split("loss")[1])[0] == pytest.approx(last_loss(h, *kinds), abs=1e-3)
    assert [numbers(row)[-1] for row in rows] == [2, 2, 99]

    def in_bfloat16(w, g, lr):
        w = truncated(w - np.float32(lr) * g)
        return w, w

    said, _ = lesson.again(TRAINING, mixed_precision_step=in_bfloat16)
    assert numbers(said.splitlines()[1])[0] != numbers(rows[1])[0]


def test_formats_and_first_updates(lesson):
    said, namespace = lesson.printed[lesson.cell(EXPLAIN)], lesson.namespace
    dy, w = torch.tensor(namespace["dy"]), convnet.load_weights()["fc2.weight"]
    rows = said.splitlines()[-4:]
    for row, kind in zip(rows[1:], (torch.float16, torch.bfloat16), strict=False):
        limits, gone = torch.finfo(kind), 100 * (dy.to(kind) == 0).float().mean().item()
        assert numbers(row.split(maxsplit=1)[1])[:4] == [
            pytest.approx(limits.smallest_normal, rel=0.05),
            pytest.approx(limits.smallest_normal * limits.eps, rel=0.05),
            pytest.approx(100 * np.mean(abs(namespace["dy"]) < limits.smallest_normal), abs=0.51),
            pytest.approx(gone, abs=0.51),
        ]
    assert "74 % of dy" in rows[1] and "18 % turn 0" in rows[1] and "0 % turn 0" in rows[2]
    update = 0.002 * abs(namespace["dy"].T @ namespace["h"])
    half = np.abs(w) * 0
    for exponent in range(-30, 3):  # by search, not by logarithm
        half[abs(w) >= 2.0**exponent] = 2.0 ** (exponent - 8)
    ratio = np.sort((update / half)[update > 0])
    below, middle = numbers(rows[0].replace("1/", ""))
    assert below == pytest.approx(100 * (ratio < 1).mean(), abs=0.51)
    assert 1 / middle == pytest.approx(ratio[len(ratio) // 2], rel=0.05)


def test_the_trial_decides(lesson):
    said = lesson.printed[lesson.cell(TRIAL)]
    assert re.findall(r": (True|False)$", said, re.M) == ["True", "True", "False", "True"]

    def half(a, b, narrow):
        return lesson.namespace["multiply_accumulate"](a / 2, b, narrow)

    said, _ = lesson.again(TRIAL, multiply_accumulate=half)
    assert "within the bound: False" in said
    said, _ = lesson.again(TRIAL, dy=lesson.namespace["dy"][::-1] * 2)
    assert "linear_backward: True" in said and "within the bound: True" in said, "any gradient"


def test_cells_can_run_again_in_any_order(lesson):
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        if NETWORK not in code:  # its six seconds add nothing here
            lesson.execute(code, left_behind)
