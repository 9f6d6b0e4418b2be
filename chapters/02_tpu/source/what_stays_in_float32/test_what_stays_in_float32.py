"""Lesson what_stays_in_float32: its numbers follow the learner's functions, and torch agrees."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import torch

from labkit import convnet, figures
from labkit.datasets import cifar10
from labkit.tpu import compile_for_tpu, compiler, snapshot
from labkit.tpu.bfloat16 import round_to_bfloat16
from labkit.tpu.compile_worker import versions
from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3
from tests.notebooks.running import Run

VARIANCE, SOFTMAX, MOMENTS, EIGHT = "def one_pass", "softmax_sum =", "moments =", "1e6)"
TRAINING, LOST, GRADIENT, NETWORK = "losses, lost", "first updates", "exact, rows", "def by_e4m3"

SOURCE = Path(__file__).with_name("lesson.py")


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "4_what_stays_in_float32")


def numbers(text):
    return [float(n) for n in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?", text.replace(",", ""))]


def test_the_row_of_three_loses_its_variance(lesson):
    row, one_pass, mean_first = (lesson.namespace[n] for n in ("row", "one_pass", "mean_first"))
    assert np.array_equal(round_to_bfloat16(row), row), "all three are exact"
    assert (row * row).mean() == pytest.approx(10_000.667, abs=1e-3)
    assert round_to_bfloat16((row * row).mean()) == round_to_bfloat16(100.0**2) == 9984
    assert one_pass(row, round_to_bfloat16) == 0
    assert mean_first(row, round_to_bfloat16) == pytest.approx(2 / 3, rel=1 / 256)
    layer = torch.nn.functional.layer_norm(torch.tensor(row).bfloat16(), (3,))
    assert layer.float().tolist() == pytest.approx([-1.2247, 0, 1.2247], abs=0.01)


def test_variances_of_long_rows(lesson):
    found = lesson.namespace["shares"]
    assert found["textbook, bfloat16"][-4:] == [0] * 4, "from 16 deviations on"
    assert max(abs(v - 1) for v in found["textbook, float32"]) < 0.01
    said = lesson.printed[lesson.cell(VARIANCE)]
    assert "mean first, bfloat16: 1.00" in said


def test_softmax_sums_are_those_of_ml_dtypes(lesson):
    rows = [numbers(line) for line in lesson.printed[lesson.cell(SOFTMAX)].splitlines()]
    rows = [row for row in rows if len(row) == 3]
    assert [row[0] for row in rows] == [128, 1024, 8192]
    assert [row[2] for row in rows] == [1, 1, 1]
    e = np.exp(np.random.default_rng(1).standard_normal(8192) - 4).astype(ml_dtypes.bfloat16)
    total = ml_dtypes.bfloat16(0)
    for term in e:
        total = total + term
    assert 3 < e.astype(float).sum() / float(total) < 4.5, "another row, another library"
    assert 3 < rows[2][1] < 4.5 and 1.2 < rows[1][1] < 1.5 and rows[0][1] < 1.1
    p = torch.softmax(torch.randn(4, 8192, generator=torch.manual_seed(0)).bfloat16(), -1)
    assert abs(p.float().sum(1) - 1).max() < 0.001, "as the Outside box says"


def test_adams_second_moment(lesson):
    moments = lesson.namespace["moments"]
    assert moments["float32"][-1] == pytest.approx(1 - 0.999**5000, abs=1e-4)
    w = torch.ones(1, dtype=torch.bfloat16, requires_grad=True)
    adam = torch.optim.Adam([w], lr=0)
    for _ in range(600):  # it sticks before
        w.grad = torch.ones_like(w)
        adam.step()
    assert adam.state[w]["exp_avg_sq"].item() == 0.5 == moments["bfloat16"][599]
    assert moments["bfloat16"][-1] == 0.5
    assert "bfloat16, by chance 0.99" in lesson.printed[lesson.cell(MOMENTS)]
    _, again = lesson.again(MOMENTS, stochastic_round=lambda x, noise: round_to_bfloat16(x))
    assert again["moments"]["bfloat16, by chance"][-1] == 0.5


def test_the_example_of_chance_carries_in_ten_cases():
    carries = [(0x5A + noise) >> 4 for noise in range(16)]
    assert carries == [5] * 6 + [6] * 10


def test_the_example_of_a_scale(lesson):
    scale_to_fp8 = lesson.namespace["scale_to_fp8"]
    q, scale = scale_to_fp8(np.float32([0.007, -0.042]), np.float32([0.02, 0.035, 0.028]))
    assert scale == pytest.approx(0.000078125, rel=1e-6) and q.tolist() == [88, -448]
    assert (q * scale).tolist() == pytest.approx([0.006875, -0.035], rel=1e-6)
    assert to_e4m3(np.float32(0.007)) == 0.0078125
    said = lesson.printed[lesson.cell(EIGHT)].splitlines()
    assert [row.split()[-3:] for row in said if row.startswith("e")] == [
        ["0.0078125", "nan", "nan"],
        ["0.00683594", "512", "inf"],
    ]
    assert torch.tensor([500.0]).to(torch.float8_e4m3fn).float().item() == 448


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


def test_four_ways_to_keep_a_weight(lesson):
    losses, h = lesson.namespace["losses"], lesson.namespace["h"].astype(float)
    wide, narrow = np.float32, ml_dtypes.bfloat16
    for name, kinds in {
        "float32 weight": (wide, wide),
        "master copy": (wide, narrow),
        "bfloat16 weight": (narrow, narrow),
    }.items():
        assert losses[name][-1] == pytest.approx(last_loss(h, *kinds), abs=1e-3)
    said = lesson.printed[lesson.cell(LOST)].splitlines()
    assert [numbers(row)[-1] for row in said[:3]] == [2, 2, 99]

    def in_bfloat16(w, g, lr):
        w = round_to_bfloat16(w - np.float32(lr) * g)
        return w, w

    _, again = lesson.again(TRAINING, mixed_precision_step=in_bfloat16)
    assert again["losses"]["master copy"][-1] == losses["bfloat16 weight"][-1]


def test_first_updates(lesson):
    namespace, w = lesson.namespace, convnet.load_weights()["fc2.weight"]
    update = 0.002 * abs(namespace["dy"].T @ namespace["h"])
    half = np.abs(w) * 0
    for exponent in range(-30, 3):  # by search, not by logarithm
        half[abs(w) >= 2.0**exponent] = 2.0 ** (exponent - 8)
    ratio = np.sort((update / half)[update > 0])
    row = lesson.printed[lesson.cell(LOST)].splitlines()[-1]
    below, middle = numbers(row.replace("1/", ""))
    assert below == pytest.approx(100 * (ratio < 1).mean(), abs=0.51)
    assert 1 / middle == pytest.approx(ratio[len(ratio) // 2], rel=0.05)


def test_the_gradient_in_each_format(lesson):
    dy, h = torch.tensor(lesson.namespace["dy"]).float(), lesson.namespace["h"]
    rows = [row.split() for row in lesson.printed[lesson.cell(GRADIENT)].splitlines()]
    rows = {(row[0], row[1]): row[2:] for row in rows if row[0] in ("float16", "bfloat16")}
    for name, kind in {"float16": torch.float16, "bfloat16": torch.bfloat16}.items():
        limits, gone = torch.finfo(kind), 100 * (dy.to(kind) == 0).float().mean().item()
        normal, fewer, _, zero, _, error, _ = rows[name, "no"]
        assert float(normal) == pytest.approx(limits.smallest_normal, rel=0.05)
        few = 100 * (dy.abs() < limits.smallest_normal).float().mean().item()
        assert float(fewer) == pytest.approx(few, abs=0.51)
        assert float(zero) == pytest.approx(gone, abs=0.51)
        exact = dy.numpy().T @ h
        off = np.linalg.norm(dy.to(kind).float().numpy().T @ h - exact) / np.linalg.norm(exact)
        assert float(error) == pytest.approx(100 * off, rel=0.1)
    assert rows["float16", "no"][1:4:2] == ["74", "18"]


def test_the_network_uses_the_learners_scale(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    labels = cifar10("sample").test.labels
    said = lesson.printed[lesson.cell(NETWORK)]
    wide, narrow = (int(numbers(row)[-2]) for row in said.splitlines()[:2])
    assert wide == (lesson.namespace["wide"] == labels).sum() and narrow < wide
    code = lesson.cell(NETWORK).replace("test.images)", "test.images[:40])")
    code = code.replace("test.labels)", "test.labels[:40])")
    exact = {"scale_to_fp8": lambda x, amaxes: (x, 1)}
    lesson.execute(code, lesson.before[lesson.cell(NETWORK)] | exact)
    assert float(drawn[0][2][2]) == 0, "nothing is rounded"


def test_cells_can_run_again_in_any_order(lesson):
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        if NETWORK not in code:  # its seconds add nothing here
            lesson.execute(code, left_behind)


@pytest.mark.skipif(not compiler.installed(), reason="no TPU compiler here")
def test_the_compilers_cycles_in_eight_bits():
    if versions() != snapshot.stored()["by"]:
        pytest.skip("the page's cycles are of another version of the compiler")
    import jax

    def cycles(dtype, out):
        def product(a, b):
            return jax.numpy.matmul(a, b, preferred_element_type=out)

        shapes = [((2048, 2048), dtype)] * 2
        return compile_for_tpu(product, shapes, "v5e:1x1", source="compiler").estimated_cycles

    e4m3, bf16 = (cycles(dtype, "float32") for dtype in ("float8_e4m3fn", "bfloat16"))
    assert int(e4m3) == int(bf16)
    said = "estimates {:,} cycles in e4m3, as many as in bfloat16, and {:,} with 8-bit integers"
    page = SOURCE.read_text(encoding="utf-8")
    assert said.format(int(e4m3), int(cycles("int8", "int32"))) in page
