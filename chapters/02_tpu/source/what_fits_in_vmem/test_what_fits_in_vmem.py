"""Lesson what_fits_in_vmem: its numbers follow the learner's functions and the compiler's dump."""

import numpy as np
import pytest

from labkit.checks.items import Refused
from labkit_lessons.tpu.what_fits_in_vmem import copies, judging
from tests.notebooks.running import Run

MEMORY = "compiler adds"
TOO_LARGE = "against 16 MiB"
LADDER = "ladder_pictures.ladder"
RACE = "detect_races"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "8_what_fits_in_vmem")


def test_what_is_predicted_is_what_the_compiler_lays_out(lesson):
    names = lesson.namespace
    assert names["expected"].tolist() == [kernel.vmem for kernel in names["kernels"]]
    said, _ = lesson.again(MEMORY, vmem_bytes=lambda bm, bk, bn, itemsize: 7 * bm)
    assert "7,168" in said, "the table follows the answer"


def test_the_compiler_refuses_what_is_too_large(lesson):
    said = lesson.printed[lesson.cell(TOO_LARGE)]
    assert "predicted: 16,785,408 B, which is +8.0 KiB against 16 MiB" in said
    assert "size 16.01M and limit 16.00M exceeded scoped vmem limit by 8.0K" in said


def test_the_bounds(lesson):
    names = lesson.namespace
    steps = [8 * 2048**3 // (8 * bm * bk * bn) for bm, bk, bn in names["choices"]]
    assert [kernel.steps for kernel in names["kernels"]] == steps
    for row, kernel, (bm, _, bn) in zip(
        names["rows"], names["kernels"], names["choices"], strict=True
    ):
        assert row[1] == kernel.step * kernel.steps
        copied = 2 * 2048**2 * (2048 // bn + 2048 // bm + 1)
        assert row[3] == pytest.approx(copied / 819e9 * 197e12 / (2 * 4 * 128**2), rel=1e-3)
        assert row[4] == max(row[1:4])
    _said, other = lesson.again(LADDER, hbm_bytes=lambda *given, itemsize: 0 * given[3] + 545e9)
    assert other["rows"][0][3] == pytest.approx(1e9, rel=1e-3)


def test_the_fault_is_found_though_the_numbers_are_right(lesson):
    said = lesson.printed[lesson.cell(RACE)]
    assert "eager    1024 of 1,024 are right\n" in said
    assert "on_wait  0 of 1,024 are right" in said
    assert "RACE DETECTED: read of vmem, write of vmem" in said


def test_a_kernel_that_waits_has_no_race():
    from jax.experimental.pallas import tpu as pltpu

    def doubled(x, y, block, arrived):
        copy = pltpu.make_async_copy(x, block, arrived)
        copy.start()
        copy.wait()
        y[...] = 2 * block[...]

    assert copies.run(doubled, dma_execution_mode="on_wait") == (1024, "")
    assert copies.run(doubled, dma_execution_mode="eager", detect_races=True) == (1024, "")


def test_the_layer_is_that_of_numpy():
    rng = np.random.default_rng(2)
    x, w, b = (rng.normal(size=shape).astype(np.float32) for shape in ((3, 4), (4, 5), (1, 5)))
    assert np.allclose(copies.layer(x, w, b), np.maximum(x @ w + b, 0), atol=1e-5)


def test_the_rule_on_larger_matrices(lesson):
    small, large = lesson.namespace["per_cycle"]
    by_hand = [2 * 4096**2 * (2 * 4096 // side + 1) / 4096**3 * 65_536 for side in (256, 512)]
    assert [small, large] == pytest.approx(by_hand)


def test_without_the_compiler_it_says_the_same(lesson, monkeypatch):
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    for words in (MEMORY, TOO_LARGE, LADDER):
        assert lesson.again(words)[0] == lesson.printed[lesson.cell(words)]


def test_a_kernel_that_would_hang_is_never_run():
    from jax.experimental.pallas import tpu as pltpu

    x = np.ones((2, 3), np.float32)

    def waits_first(x, y, block, arrived, left):
        come = pltpu.make_async_copy(x, block, arrived)
        come.wait()
        come.start()

    def nowhere(x, y, block, arrived, left):
        come = pltpu.make_async_copy(x, block, arrived)
        come.start()
        come.wait()

    with pytest.raises(Refused, match="was not started"):
        judging.by_hand(waits_first)(x)
    with pytest.raises(Refused, match="nothing was copied there"):
        judging.by_hand(nowhere)(x)
