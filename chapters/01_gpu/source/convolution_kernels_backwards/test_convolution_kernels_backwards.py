"""This lesson: its solution's numbers come from the kernels that the lesson shows.

A cell runs again with a kernel broken or replaced: what it prints must follow.
"""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from labkit import convnet, figures
from labkit.datasets import cifar10
from labkit.gpu import compile_report, cuda
from labkit_lessons.gpu.convolution_kernels_backwards import layers, trials
from tests.night import others_by_night
from tests.notebooks.running import Run

PLANTED = Path(__file__).with_name("planted.py")
NOTEBOOK = "chapters/01_gpu/9_convolution_kernels_backwards.ipynb"
SCATTER, AUTOGRAD, NUDGED, TRAINED = "def scatter", "class Conv2d", "trials.nudge", "trials.losses"
TABLE, GUESSES = "conv2d_forward, 128", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "9_convolution_kernels_backwards")


@pytest.fixture(scope="module")
def planted():
    return runpy.run_path(str(PLANTED))


def verdicts(said):
    return [word == "True" for word in re.findall("True|False", said)]


class Counted:
    """A kernel that counts its launches."""

    def __init__(self, kernel):
        self.kernel, self.launches, self.py_func = kernel, [], kernel.py_func

    def __getitem__(self, geometry):
        def launch(*arguments):
            self.launches.append(geometry)
            self.kernel[geometry](*arguments)

        return launch


def test_the_scatter_races_and_its_atomics_are_counted(lesson):
    plain, atomic = re.split(r"\n(?=4,096)", lesson.printed[lesson.cell(SCATTER)])
    assert "Race on dx" in plain and plain.startswith("0 atomic additions")
    # 8 channels back to 2, for each pair of rows and of columns that a tap ties together
    pairs = sum(0 <= p + r - 1 < 6 for p in range(6) for r in range(3))
    assert atomic.startswith(f"{8 * 2 * pairs**2:,} atomic additions, right: True")
    assert "Race" not in atomic


def test_the_scatter_is_compared_with_the_oracle(lesson, monkeypatch):
    dy, w, expected = trials.small_layer()
    monkeypatch.setattr(trials, "small_layer", lambda: (dy, w, expected + 1))
    assert verdicts(lesson.again(SCATTER)[0]) == [False, False]


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    others_by_night(
        [
            ("conv2d_dx_kernel", None, [True, True]),
            ("conv2d_dx_kernel", "dx_any_rest", [True, False]),
            ("conv2d_dw_kernel", "dw_of_one_image", [False, False]),
        ],
        NOTEBOOK,
        by_day=2,
    ),
)
def test_the_nudges_judge_each_kernel(lesson, planted, name, wrong, expected):
    changed = {name: planted[wrong]} if wrong else {}
    said, _ = lesson.again(AUTOGRAD, NUDGED, **changed)
    assert verdicts(said) == expected
    entries = 2 * 3 * 7 * 6 + 4 * 3 * 3 * 3 + 4
    assert said.count(f"{entries} entries nudged") == 2


def test_a_wrong_forward_does_not_belong_to_backward(lesson, monkeypatch):
    right = layers.forward
    monkeypatch.setattr(layers, "forward", lambda x, w, b, *geometry: right(-x, w, b, *geometry))
    assert verdicts(lesson.again(AUTOGRAD, NUDGED)[0]) == [False, False]


def expected_losses():
    """The same training, written with PyTorch's modules."""
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.ReLU())
    net.extend([nn.Flatten(), nn.Linear(1024, 10)])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    train, found = cifar10("sample").train, []
    for start in 4 * [0, 8]:
        x = torch.from_numpy(convnet.normalise(train.images[start : start + 8]))
        loss = nn.functional.cross_entropy(net(x), torch.from_numpy(train.labels)[start:][:8])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return np.array(found)


def test_the_losses_are_those_of_pytorch(lesson):
    said = lesson.printed[lesson.cell(TRAINED)]
    assert verdicts(said) == [True]
    mine, theirs = lesson.namespace["mine"], lesson.namespace["theirs"]
    assert mine == pytest.approx(expected_losses(), rel=1e-4)
    assert theirs == pytest.approx(expected_losses(), rel=1e-5)
    assert mine[-1] < 0.6 * mine[0], "it learns"
    shown = [line.split() for line in said.splitlines() if re.match(r"\d", line)]
    assert [float(loss) for _, loss, _ in shown] == pytest.approx(mine, abs=0.006)


def convolution(lesson, **changed):
    """The lesson's layer, with some of its kernels changed."""
    namespace = lesson.before[lesson.cell(AUTOGRAD)] | changed
    lesson.execute(lesson.cell(AUTOGRAD), namespace)
    return namespace["Conv2d"].apply


def test_every_step_is_made_by_the_learners_kernels(lesson, monkeypatch):
    names = ["conv2d_dx_kernel", "conv2d_dw_kernel"]
    kernels = {name: Counted(lesson.namespace[name]) for name in names}
    layer = convolution(lesson, **kernels)

    def refuse(*_, **__):
        raise AssertionError("the learner's layer called PyTorch's convolution")

    monkeypatch.setattr(nn.functional, "conv2d", refuse)
    monkeypatch.setattr(torch, "conv2d", refuse)
    found = trials.losses(layer, rounds=1)
    assert found == pytest.approx(lesson.namespace["mine"][:2], rel=1e-6)
    assert [len(kernels[name].launches) for name in names] == [4, 8]  # 2 steps, 2 layers
    blocks = {geometry[0] for geometry in kernels["conv2d_dw_kernel"].launches}
    assert blocks == {8 * 3 * 9, 16 * 8 * 9, 8, 16}, "a block for each weight and each bias"


@pytest.mark.parametrize(
    ("name", "wrong"),
    others_by_night(
        [("conv2d_dw_kernel", "dw_of_thread_0"), ("conv2d_dx_kernel", "dx_any_rest")], NOTEBOOK
    ),
)
def test_a_wrong_kernel_trains_differently(lesson, planted, name, wrong):
    found = trials.losses(convolution(lesson, **{name: planted[wrong]}), rounds=1)
    right = lesson.namespace["theirs"][:2]
    assert np.isclose(found, right, rtol=1e-4).tolist() == [True, False]


def test_the_table_counts_what_the_kernels_ask_for(lesson, planted):
    launches = lesson.namespace["launches"]
    asked = {name: p.counters["global_load_bytes"] for name, p in launches.items()}
    inside = 46**2  # of 16 rows x 3 taps, and of columns, those not in the frame
    assert asked["y"] == 4 * (2 * 64 * 32 * inside + 64 * 256)  # and the bias
    assert asked["dx"] == 4 * 2 * 64 * 32 * inside
    assert asked["dw"] == 4 * 64 * 32 * (9 * 256 + inside)  # every dy, and the pixels inside
    x, w, y = 32 * 256, 64 * 288, 64 * 256
    assert launches["dw"].counters["compulsory_bytes"] == 4 * (x + w + y)
    _, after = lesson.again(TABLE, conv2d_dw_kernel=planted["dw_of_one_round"])
    less = after["launches"]["dw"].counters["global_load_bytes"]
    assert less < 0.6 * asked["dw"], "128 of 256 products"


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    lesson.again(GUESSES)
    traffic = {
        name: p.counters["traffic_bytes"] for name, p in lesson.namespace["launches"].items()
    }
    ratio = (traffic["dx"] + traffic["dw"]) / traffic["y"]
    assert [(name, result.word) for name, _, result in shown] == [
        ("products", "counted"),
        ("threads", "predicted"),
        ("bytes", "counted"),
    ]
    assert [float(result) for _, _, result in shown] == pytest.approx([8192, 0.3196, ratio], 1e-3)


def test_the_example_by_hand_is_the_convolutions():
    from labkit import reference

    x, w = np.array([5.0, 6, 7]).reshape(1, 1, 1, 3), np.array([2.0, 3]).reshape(1, 1, 1, 2)
    dy = np.array([10.0, 100]).reshape(1, 1, 1, 2)
    dx, dw, _ = reference.conv2d_backward(dy, x, w)
    assert dx.ravel().tolist() == [20, 230, 300] and dw.ravel().tolist() == [650, 760]


def test_the_lessons_kernels_compile_for_a_gpu(lesson):
    x, w, y = (np.zeros(s, np.float32) for s in [(1, 2, 5, 5), (3, 2, 3, 3), (1, 3, 5, 5)])
    arguments = {"conv2d_dx_kernel": (y, w, 1, 1, x), "conv2d_dw_kernel": (y, x, 1, 1, w)}
    arguments |= {"scatter": (y, w, 1, 1, True, x)}
    kernels = {name for name, value in lesson.namespace.items() if isinstance(value, cuda_kernel())}
    assert kernels - {"conv2d_forward"} == set(arguments)
    for name, given in arguments.items():
        report = compile_report(lesson.namespace[name], given, "sm_75")
        assert (name, report.spills, report.fp64) == (name, 0, 0)


def cuda_kernel():
    @cuda.jit
    def nothing():
        pass

    return type(nothing)
