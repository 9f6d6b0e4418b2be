"""Right kernels are right, and a wrong one is not: the report's first section."""

import numpy as np
import pytest
import torch

from labkit.gpu import cuda
from labkit.gpu.judging.kernel_exercise import judge_of
from labkit.gpu.report import timing
from labkit.gpu.report.sections import results
from labkit.gpu.report.tasks import Bench
from labkit.provenance import counted

BENCH = Bench(timing.Host(), dry=True)
EXERCISES = {exercise.id: exercise for exercise in results.kernel_exercises()}


@cuda.jit
def does_nothing(x, y):
    pass


@cuda.jit
def forgets_the_last(x, y):
    i = cuda.grid(1)
    if i < x.size - 1:
        y[i] = max(x[i], np.float32(0))


@cuda.jit
def a_little_off(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = max(x[i], np.float32(0)) * np.float32(1.001)


def test_every_kernel_of_chapter_01_is_tried():
    assert {"gpu.relu_kernel", "gpu.matmul_registers", "gpu.conv2d_dw_kernel"} <= EXERCISES.keys()
    assert {"gpu.case_row_max", "gpu.sgd_momentum", "gpu.bias_relu_pool"} <= EXERCISES.keys()
    assert len(EXERCISES) == 19
    names = [name for name, _ in results.work(BENCH, {})]
    assert len(names) == len({*names}) and [*EXERCISES] == names[: len(EXERCISES)]
    assert names[-1] == "a training of the ConvNet"


@pytest.mark.parametrize("id", ["gpu.relu_kernel", "gpu.sgd_momentum", "gpu.conv2d_dx_kernel"])
def test_the_lessons_kernels_are_right(id):
    row = results.exercise_row(BENCH, EXERCISES[id])
    assert row.ok is True and row.says == "right"
    assert float(row.numbers["worst error"]) < 100
    assert float(row.numbers["checked"]) >= 6


@pytest.mark.parametrize("wrong", [does_nothing, forgets_the_last, a_little_off])
def test_a_wrong_kernel_is_named(wrong, monkeypatch):
    exercise = EXERCISES["gpu.relu_kernel"]
    monkeypatch.setattr(judge_of(exercise), "kernel", wrong)
    row = results.exercise_row(BENCH, exercise)
    assert row.ok is False and row.says.startswith("WRONG")


def test_an_element_that_nobody_wrote_is_as_wrong_as_can_be():
    row = results.verdict(BENCH, float("nan"), counted(1, "cases", "x"))
    assert row.ok is False and row.says == "WRONG: an element was not written"
    assert "worst error" not in row.numbers


def test_where_no_error_is_allowed_only_the_right_value_is_right():
    one = np.ones(1, np.float32)
    assert results.share_of_allowed(one, np.ones(1), 0, 0) == 0
    assert results.share_of_allowed(one, np.ones(1) + 1e-9, 0, 0) == np.inf
    assert np.isnan(results.share_of_allowed(one * np.nan, np.ones(1), 0, 0))
    row = results.verdict(BENCH, np.inf, counted(1, "cases", "x"))
    assert row.ok is False and row.says == "WRONG: no error is allowed"


def test_a_layer_with_a_wrong_gradient_is_named(monkeypatch):
    real = results.layer_task

    def wrong_task(layer, N, H):
        task = real(layer, N, H)
        prepare = task.sides["ours"]

        def off(inputs, outputs):
            run = prepare(inputs, outputs)

            def wrong():
                y, *gradients = run()
                return y, *(g + 0.1 for g in gradients)

            return wrong

        return timing.Task(task.name, task.inputs, (), {"ours": off}, task.reference)

    assert results.layer_row(BENCH, "ReLU").ok is True
    monkeypatch.setattr(results, "layer_task", wrong_task)
    assert results.layer_row(BENCH, "ReLU").ok is False


def test_a_product_that_is_wrong_at_its_edge_is_named(monkeypatch):
    def launch(plan, a, b, c, *sizes):
        c.copy_(a @ b)
        c[-1, -1] += 1

    assert results.product_row(BENCH, "shared tile").ok is True
    monkeypatch.setattr(results, "launch", launch)
    assert results.product_row(BENCH, "shared tile").ok is False


@pytest.mark.night(
    instead="tests/gpu/report/test_results.py::test_a_layer_with_a_wrong_gradient_is_named"
)
def test_a_training_that_drifts_is_named(monkeypatch):
    real = results.step
    assert results.training_row(BENCH).ok is True

    def drifting(model, loss_of, update, x, y):
        return real(model, loss_of, update, x, y) * (1.01 if x.dtype == torch.float32 else 1)

    monkeypatch.setattr(results, "step", drifting)
    assert results.training_row(BENCH).ok is False
