"""Are the kernels right? The exercises' kernels and those of training, beside float64."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from labkit import convnet
from labkit.checks.items import Exercise
from labkit.checks.lesson_files import module_of
from labkit.gpu.judging.kernel_exercise import judge_of
from labkit.gpu.kernels.matmul import LADDER, plan_matmul
from labkit.gpu.kernels.tensor_core import plan_tensor_core
from labkit.gpu.report.rows import Row, Work
from labkit.gpu.report.sections.speeds import as_words, needs_mma
from labkit.gpu.report.sections.training import layer_kinds, layer_task
from labkit.gpu.report.tasks import Bench, normal
from labkit.gpu.report.timing import Refused, expect, worst_error
from labkit.gpu.training import autograd
from labkit.gpu.training.tensors import launch
from labkit.provenance import counted

LESSONS = (
    "a_first_kernel",
    "memory_and_warps",
    "tiles",
    "convolution_kernels",
    "convolution_kernels_backwards",
    "races_and_other_faults",
    "profiling",
    "a_training_step_on_the_gpu",
)
LAYER_ERROR = 1e-3  # of a layer's outputs and gradients, in root mean squares
PRODUCT_ERROR = 1e-4
LOSS_ERROR = 1e-4  # of each loss in a training, relative
RATE = 1e-4  # small: where a ReLU's input is nearly 0, two roundings may go two ways
SIZES = (97, 70, 133)  # M, K, N of the ragged product: more than a tile, and a multiple of nothing


def work(bench: Bench, earlier: dict) -> Work:
    """The exercises' kernels, the ladder, the layers, and a training."""
    for exercise in kernel_exercises():
        yield exercise.id, partial(exercise_row, bench, exercise)
    for rung in LADDER:
        yield f"matmul, {rung}, ragged", partial(product_row, bench, rung)
    yield "matmul, tensor cores, ragged", partial(tensor_core_row, bench)
    for layer in layer_kinds(1, 4):
        yield f"{layer}, forward and backward", partial(layer_row, bench, layer)
    yield "a training of the ConvNet", partial(training_row, bench)


def kernel_exercises() -> Iterator[Exercise]:
    """The exercises of chapter 01 whose answer is a kernel, in the lessons' order."""
    for lesson in LESSONS:
        for exercise in module_of(lesson, "exercises").EXERCISES:
            if exercise.adapter is not None:
                yield exercise


def exercise_row(bench: Bench, exercise: Exercise) -> Row:
    """The lesson's solution on every case of the exercise's check."""
    cases = list(exercise.cases(np.random.default_rng(0)))
    worst = float(np.max([case_error(exercise, case.args) for case in cases]))  # NaN stays
    return verdict(bench, worst, counted(len(cases), "cases", "comparing with float64"))


def case_error(exercise: Exercise, inputs: tuple) -> float:
    """The worst error, as a share of what the check allows; NaN if an element was not written."""
    judge = judge_of(exercise)
    setup = judge.set_up(inputs)
    if judge.fills:
        for output in setup.outputs:
            output.fill(np.nan)
    exact = [doubled(value) for value in inputs]
    expected = exercise.oracle(*exact)  # before the launch, which may work in place
    judge.kernel[setup.grid, setup.block](*setup.arguments)
    expected = expected if isinstance(expected, tuple) else (expected,)
    worst = 0.0
    for got, right in zip(setup.outputs, expected, strict=True):
        worst = np.maximum(worst, share_of_allowed(got, right, exercise.atol, exercise.rtol))
    return float(worst)


def share_of_allowed(got: np.ndarray, right: np.ndarray, atol: float, rtol: float) -> float:
    """max |got - right| / (atol + rtol |right|): inf where nothing is allowed and got is not right.

    NaN if `got` holds one.
    """
    error = np.abs(got.astype(np.float64) - right)
    if np.isnan(error).any():
        return np.nan
    wrong = error > 0  # 0 of 0 that are allowed is right
    with np.errstate(divide="ignore"):
        shares = error[wrong] / (atol + rtol * np.abs(right))[wrong]
    return float(shares.max(initial=0))


def doubled(value: Any) -> Any:
    """A float array as float64; all else as it is."""
    is_float = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(np.float64) if is_float else value


def verdict(bench: Bench, worst: float, checked: Any, allowed: float = 1.0) -> Row:
    """Right, if the worst error is no larger than what is allowed."""
    if not np.isfinite(worst):
        why = "an element was not written" if np.isnan(worst) else "no error is allowed"
        return Row({"checked": checked}, False, f"WRONG: {why}")
    share = 100 * worst / allowed
    numbers = {
        "worst error": bench.measured(share, "% of what is allowed"),
        "checked": checked,
    }
    right = bool(share <= 100)
    return Row(numbers, right, "right" if right else "WRONG")


def product_row(bench: Bench, rung: str) -> Row:
    """A rung of the ladder on sizes that fit no tile."""
    M, K, N = SIZES
    on = bench.device.torch_device
    a, b = normal((M, K), (K, N))(torch.Generator(on).manual_seed(0))
    c = torch.full((M, N), torch.nan, device=on)
    launch(plan_matmul(M, N, rung), a, b, c, M, N, K)
    worst = worst_error(c, a.double() @ b.double())
    return verdict(bench, worst, counted(c.numel(), "elements", "comparing"), PRODUCT_ERROR)


def tensor_core_row(bench: Bench) -> Row:
    """The kernel with mma on sizes that fit no tile: c = a b^T, from float16."""
    needs_mma(bench)
    M, K, N = SIZES
    on = bench.device.torch_device
    generator = torch.Generator(on).manual_seed(0)
    a, b = normal((M, K), (N, K), dtype=torch.float16)(generator)
    c = torch.full((M, N), torch.nan, device=on)
    launch(plan_tensor_core(M, N), as_words(a), as_words(b), c, M, N, K)
    worst = worst_error(c, a.double() @ b.double().T)
    return verdict(bench, worst, counted(c.numel(), "elements", "comparing"), PRODUCT_ERROR)


def layer_row(bench: Bench, layer: str) -> Row:
    """A layer's output and gradients, of a batch that fits no block."""
    on = bench.device.torch_device
    task = layer_task(layer, bench.size(33, 3), bench.size(32, 4))
    inputs = task.inputs(torch.Generator(on).manual_seed(0))
    expected = expect(task, inputs)
    outputs = task.sides["ours"](inputs, ())()
    worst = 0.0
    for out, right in zip(outputs, expected, strict=True):
        if out.shape != right.shape:
            raise Refused(f"{layer}: {tuple(out.shape)}, not {tuple(right.shape)}.")
        worst = np.maximum(worst, worst_error(out, right))  # NaN stays
    checked = counted(len(expected), "arrays", "comparing: the output and its gradients")
    return verdict(bench, worst, checked, LAYER_ERROR)


def training_row(bench: Bench) -> Row:
    """The losses of a training by our kernels alone, beside PyTorch's in float64."""
    steps = bench.size(50, 2)
    N = bench.size(64, 2)
    on = bench.device.torch_device
    generator = torch.Generator(on).manual_seed(0)
    weights = convnet.init(0)
    ours = autograd.ConvNet(weights).to(on)
    exact = convnet.torch_model(weights).to(on).double()
    sides = (
        (ours, autograd.cross_entropy, autograd.SGD(ours.parameters(), RATE, 0.9)),
        (exact, F.cross_entropy, torch.optim.SGD(exact.parameters(), RATE, 0.9)),
    )
    worst = 0.0
    for _ in range(steps):
        (x,) = normal((N, 3, 32, 32))(generator)
        y = torch.randint(0, 10, (N,), generator=generator, device=on)
        got = step(*sides[0], x, y)
        right = step(*sides[1], x.double(), y)
        worst = np.maximum(worst, abs(got / right - 1))
    return verdict(
        bench,
        worst,
        counted(steps, "steps", "comparing their losses"),
        LOSS_ERROR,
    )


def step(model: Any, loss_of: Any, update: Any, x: torch.Tensor, y: torch.Tensor) -> float:
    """A training step; its loss."""
    loss = loss_of(model(x), y)
    update.zero_grad()
    loss.backward()
    update.step()
    return loss.item()
