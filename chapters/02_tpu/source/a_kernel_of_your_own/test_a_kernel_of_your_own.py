"""Lesson a_kernel_of_your_own: its numbers follow the learner's functions."""

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from labkit.checks.items import Refused, Unsolved
from labkit.tpu import compiler, tiled
from labkit_lessons.tpu.a_kernel_of_your_own import judging, solutions
from tests.notebooks.running import Run

CHECKED = "results are right"
SUMS = "sum_in_y"
RAGGED = "of them NaN"
LAYER = "layer_step"
EDGES = "equal in"


@pytest.fixture(scope="module")
def lesson():
    return Run("02_tpu", "7_a_kernel_of_your_own")


def test_the_answer_multiplies_and_is_compiled(lesson):
    said = lesson.printed[lesson.cell(CHECKED)]
    assert "4 x 4 x 4: 16 of 16" in said and "64 x 256 x 256: 16384 of 16384" in said
    assert "your kernel" in said and "no estimate of cycles (compiled)" in said

    def doubled(x, w, y, total):
        y[...] = 2 * jnp.dot(x[...], w[...])

    other, _ = lesson.again(CHECKED, matmul_step=doubled, compile_for_tpu=_compiled)
    assert "16384 of 16384" not in other


class _compiled:
    def __init__(self, *_):
        self.memory = {"generated_code": 1}
        self.estimated_cycles = None


def test_the_error_of_a_sum_in_bfloat16(lesson):
    names = lesson.namespace
    assert names["times"] == names["errors"][1] / names["errors"][0] > 2
    # by hand: the exact sums, rounded to bfloat16 once and in each of 32 parts
    x, w = (np.asarray(names[one], float) for one in ("long_x", "long_w"))
    parts = np.einsum("mpk,pkn->pmn", x.reshape(16, 32, 128), w.reshape(32, 128, 128))
    total = jnp.zeros((16, 128), jnp.bfloat16)
    for part in parts:
        total = jnp.asarray(np.asarray(total, float) + part, jnp.bfloat16)
    exact = x @ w
    once = np.asarray(jnp.asarray(exact, jnp.bfloat16), float)
    by_hand = [np.abs(np.asarray(one, float) - exact).mean() for one in (once, total)]
    assert names["errors"] == pytest.approx(by_hand)


def test_every_result_is_nan_without_a_mask(lesson):
    assert "results: 1024  of them NaN: 1024" in lesson.printed[lesson.cell(RAGGED)]
    assert lesson.namespace["nan"] == {"x and w": 0, "x alone": 1024}


def test_the_table_follows_the_mask(lesson):
    said, _ = lesson.again(LAYER, mask_k=lambda x, w, k, K: (x, w))
    assert "1,024" in said.splitlines()[1], "nothing is masked: all are NaN"


def test_edges_along_m_and_n_need_no_mask(lesson):
    assert "equal in 2,600 of 2,600" in lesson.printed[lesson.cell(EDGES)]


@pytest.mark.parametrize("blocks", [(16, 128, 128), (16, 128, 64), (8, 128, 128)])
def test_a_tpu_takes_the_blocks_of_the_lesson_and_no_others(blocks):
    """Those of the sum, of K = 300 and of the recap, on their matrices; half of bk is refused."""
    (M, K, N) = {(16, 128, 128): (16, 4096, 128), (16, 128, 64): (16, 300, 64)}.get(
        blocks, (13, 384, 200)
    )
    given = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in ((M, K), (K, N))]

    def lower(blocks):
        kernel = tiled.tiled(solutions.matmul_step, blocks)
        return jax.export.export(jax.jit(kernel), platforms=["tpu"])(*given)

    assert "tpu_custom_call" in lower(blocks).mlir_module()
    with pytest.raises(ValueError, match="divisible by 8 and 128 respectively"):
        lower((blocks[0], 64, blocks[2]))
    with pytest.raises(ValueError, match="divisible by 8 and 128 respectively"):
        lower((2, 2, 2))


@pytest.mark.skipif(not compiler.installed(), reason="needs Google's compiler")
@pytest.mark.parametrize(("topology", "steps"), [("v5e:1x1", (64, 64)), ("v5p:1x1", (32, 64))])
def test_dimension_semantics_divides_the_steps_of_two_cores(monkeypatch, topology, steps):
    """What Outside says: half the steps for each of a v5p's two cores, and no change on a v5e."""
    made = []
    for schedule in (("parallel", "parallel", "arbitrary"), None):
        monkeypatch.setattr(tiled, "SCHEDULE", schedule)
        kernel = tiled.tiled(solutions.matmul_step, (512, 512, 512))
        shapes = [(2048, 2048), (2048, 2048)]
        answer = compiler.compile_for_tpu(kernel, shapes, topology, source="compiler", bundles=True)
        made.append(answer.kernels[0])
    assert (made[0].steps, made[1].steps) == steps
    assert (made[0] == made[1]) == (topology == "v5e:1x1")


def test_the_layer_equals_numpy():
    rng = np.random.default_rng(3)
    x, w, b = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 8), (8, 6), (1, 6)))
    step = tiled.layer_step()
    y = tiled.tiled(step, (2, 4, 3), bias=True, interpret=True)(x, w, b)
    assert np.allclose(y, np.maximum(x @ w + b, 0), atol=1e-5)


def test_without_the_compiler_it_says_the_same(lesson, monkeypatch):
    monkeypatch.setenv("LABKIT_TPU_COMPILER", "off")
    assert lesson.again(CHECKED)[0] == lesson.printed[lesson.cell(CHECKED)]


def test_a_step_that_can_be_right_nowhere_is_told_why():
    x, w, blocks = np.ones((4, 4), np.float32), np.ones((4, 4), np.float32), (2, 2, 2)

    def adds_to_anything(x, w, y, total):
        total[...] += jnp.dot(x[...], w[...])
        y[...] = total[...]

    def stores_nothing(x, w, y, total):
        total[...] = jnp.dot(x[...], w[...])

    with pytest.raises(Refused, match="whatever was there before"):
        judging.interpreted(adds_to_anything)(x, w, blocks)
    with pytest.raises(Refused, match="some block of y was never written"):
        judging.interpreted(stores_nothing)(x, w, blocks)
    with pytest.raises(Unsolved):
        judging.interpreted(lambda x, w, y, total: None)(x, w, blocks)


def test_index_maps_of_another_form_are_told_so():
    steps = [np.arange(3)] * 3
    with pytest.raises(Refused, match="A block has a row and a column"):
        judging.for_each_step(lambda i, j, k: (i, j, k))(*steps)
    with pytest.raises(Refused, match="Return three pairs"):
        judging.for_each_step(lambda i, j, k: ((i, k), (k, j)))(*steps)
