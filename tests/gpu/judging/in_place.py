"""Exercises for test_kernel_exercise.py: a kernel in place, with numbers; a narrow one."""

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.gpu import cuda
from labkit.gpu.judging.exercise_data import distinct
from labkit.gpu.judging.kernel_exercise import blocks, kernel_exercise

seen = []


@cuda.jit
def step(p, v, g, skip, rate):
    i = cuda.grid(1)
    if i < p.size and i % skip == 0:
        v[i] = np.float32(0.5) * v[i] + g[i]
        p[i] -= rate * v[i]


def updated(p, v, g, skip, rate, old=False):
    p, before, v = p.copy(), v.copy(), v.copy()
    v[::skip] = v[::skip] / 2 + g[::skip]
    p[::skip] -= rate * (before if old else v)[::skip]
    return p, v


def launch(p, v, g, skip, rate):
    outputs = p.copy(), v.copy()
    return blocks(p.size, 32), 32, outputs, (*outputs, g, skip, rate)


def limit(profile, kernel, p, v, g, skip, rate):
    seen.append((kernel, skip))
    return "it is too dear." if profile.counters["global_load_requests"] > 9 else None


@cuda.jit
def double(x, y):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        y[row, col] = 2 * x[row, col]


EXERCISES = [
    kernel_exercise(
        "gpu.step",
        launch=launch,
        kernel=step,
        cases=cases_of(
            {"short": (3, 1), "long": (70, 2)},
            lambda rng, n, skip: (*(distinct(rng, n) for _ in range(3)), skip, np.float32(0.1)),
        ),
        oracle=updated,
        wrong={"old_velocity": lambda *inputs: updated(*inputs, old=True)},
        limit=limit,
        costs=("flops",),
        outputs=("p", "v"),
        fills=False,
    ),
    kernel_exercise(
        "gpu.double",
        launch=lambda x: ((1, blocks(len(x), 8)), (32, 8), (np.zeros_like(x),)),
        kernel=double,
        cases=cases_of({"narrow": (300, 1)}, lambda rng, *shape: (distinct(rng, *shape),)),
        oracle=lambda x: 2 * x,
        wrong={},
    ),
]
