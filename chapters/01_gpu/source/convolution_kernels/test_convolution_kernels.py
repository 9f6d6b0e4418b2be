"""Lesson convolution_kernels: its solution's numbers come from the kernels that the lesson shows.

A cell runs again with a kernel broken or replaced: what it prints must follow.
"""

import re
import runpy
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from labkit import convnet, figures, reference
from labkit.datasets import cifar10
from labkit.gpu import compile_report, cuda
from tests.night import others_by_night
from tests.notebooks.running import Run

PLANTED = Path(__file__).with_name("planted.py")
NOTEBOOK = "chapters/01_gpu/8_convolution_kernels.ipynb"
PLACE, SCATTER = "def place", "def scatter"
AUTOGRAD, NUDGED, TRAINED = "class Conv2d", "reference.gradcheck", "def train"
TILED, TABLE, GUESSES = "def implicit_gemm", "compulsory_bytes", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("01_gpu", "8_convolution_kernels")


@pytest.fixture(scope="module")
def planted():
    return runpy.run_path(str(PLANTED))


def verdicts(said):
    return [word == "True" for word in re.findall("True|False", said)]


@cuda.jit
def does_nothing(*_):
    pass


class Counted:
    """A kernel that counts its launches."""

    def __init__(self, kernel):
        self.kernel, self.launches = kernel, []

    def __getitem__(self, geometry):
        def launch(*arguments):
            self.launches.append(geometry)
            self.kernel[geometry](*arguments)

        return launch


PLACES = others_by_night([59, 0, 37, 119], NOTEBOOK)


@pytest.mark.parametrize("number", PLACES)
def test_a_place_is_the_row_major_index(lesson, number):
    source = lesson.cell(PLACE).replace("37", str(number))
    said = lesson.execute(source, lesson.before[lesson.cell(PLACE)] | {})
    found = [int(n) for n in re.search(r"\[([\d ]+)\]$", said.strip())[1].split()]
    assert found == list(np.unravel_index(number, (2, 3, 4, 5)))


def test_the_scatter_races_and_its_atomics_are_counted(lesson):
    plain, atomic = lesson.printed[lesson.cell(SCATTER)].split("\n\n")[:2]
    assert "Race on dx" in plain and plain.startswith("0 atomic additions")
    # 8 channels back to 2, for each pair of rows and of columns that a tap ties together
    pairs = sum(0 <= p + r - 1 < 6 for p in range(6) for r in range(3))
    assert atomic.startswith(f"{8 * 2 * pairs**2:,} atomic additions, right: True")
    assert "Race" not in atomic


def test_the_scatter_is_compared_with_the_oracle(lesson, monkeypatch):
    monkeypatch.setattr(reference, "conv2d_backward", lambda dy, x, *_: (x + 1, None, None))
    assert verdicts(lesson.again(SCATTER)[0]) == [False, False]


def test_swapped_indices_are_not_taken_for_a_missing_guard_alone(lesson):
    cell = lesson.cell("gpu.conv2d_kernel")
    swapped = cell.replace("x[n, c, h, v]", "x[n, c, v, h]")
    said = lesson.execute(swapped, lesson.before[cell] | {})
    assert "whether another index belongs on this axis" in " ".join(said.split())


@pytest.mark.parametrize(
    ("name", "wrong", "expected"),
    others_by_night(
        [
            ("conv2d_kernel", None, [True, True]),
            ("conv2d_kernel", "conv_no_stride", [True, False]),
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
    assert f"yours: {2 if wrong else 3} of 3" in said


def losses(said):
    found = re.findall("^(?:kernels|PyTorch):(.+)$", said, re.MULTILINE)
    return np.array([line.split() for line in found], float)


def once_through(lesson, **changed):
    """The training cut to one time through the images, 2 steps, with some names changed."""
    namespace = lesson.before[lesson.cell(AUTOGRAD)] | changed
    lesson.execute(lesson.cell(AUTOGRAD), namespace)
    short = lesson.cell(TRAINED).replace("4 * [*zip", "[*zip")
    assert short != lesson.cell(TRAINED)
    return lesson.execute(short, namespace), namespace


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
    return found


def test_the_losses_are_those_of_pytorch(lesson):
    said = lesson.printed[lesson.cell(TRAINED)]
    assert verdicts(said) == [True]
    ours, theirs = losses(said)
    assert ours == pytest.approx(np.array(expected_losses()), abs=0.006)
    assert theirs == pytest.approx(ours, abs=0.011)
    assert ours[-1] < 0.6 * ours[0], "it learns"


def test_every_step_is_made_by_the_learners_kernels(lesson, monkeypatch):
    names = [f"conv2d_{name}kernel" for name in ("", "dx_", "dw_")]
    kernels = {name: Counted(lesson.namespace[name]) for name in names}
    said, namespace = once_through(lesson, **kernels)
    assert verdicts(said) == [True]
    assert [len(kernels[name].launches) for name in names] == [4, 4, 8]  # 2 steps, 2 layers
    blocks = {geometry[0] for geometry in kernels["conv2d_dw_kernel"].launches}
    assert blocks == {8 * 3 * 9, 16 * 8 * 9, 8, 16}, "a block for each weight and each bias"

    def refuse(*_, **__):
        raise AssertionError("the learner's layer called PyTorch's convolution")

    monkeypatch.setattr(nn.functional, "conv2d", refuse)
    monkeypatch.setattr(torch, "conv2d", refuse)
    again = [*namespace["train"](namespace["Conv2d"].apply)]
    assert again == pytest.approx(namespace["losses"][0], rel=1e-6)


@pytest.mark.parametrize(
    ("name", "wrong", "first"),
    others_by_night(
        [
            ("conv2d_kernel", "conv_flipped", 0),
            ("conv2d_dw_kernel", "dw_of_thread_0", 1),
            ("conv2d_dx_kernel", "dx_any_rest", 1),
        ],
        NOTEBOOK,
    ),
)
def test_a_wrong_kernel_trains_differently(lesson, planted, name, wrong, first):
    said, namespace = once_through(lesson, **{name: planted[wrong]})
    assert verdicts(said) == [False]
    mine, theirs = namespace["losses"]
    assert np.isclose(mine, theirs, rtol=1e-4).tolist()[: first + 1] == first * [True] + [False]
    right = losses(lesson.printed[lesson.cell(TRAINED)])[1]
    assert theirs == pytest.approx(right[:2], abs=0.006)


def rows(said):
    """name -> right, then [bytes, FLOP/B, TFLOP/s] as asked, without and with a perfect cache."""
    found = {}
    for name, right, *lines in re.findall(r"(.+), right: (True|False)\n(.+)\n(.+)\n(.+)\n", said):
        numbers = [re.findall(r"[\d.,]+(?= B c| FLOP| TFLOP)", line) for line in lines]
        found[name] = right, *([float(n.replace(",", "")) for n in line] for line in numbers)
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
    found = rows(lesson.printed[lesson.cell(TABLE)])
    assert list(found) == ["direct", "implicit GEMM"]
    flops, peak, bandwidth = 2 * 64 * 256 * 288, 67e12, 4.8e12
    for right, *lines in found.values():
        assert right == "True"
        for moved, intensity, rate in lines:
            assert intensity == pytest.approx(flops / moved, abs=0.005)
            least = min(peak, flops / moved * bandwidth)
            assert 1e12 * rate == pytest.approx(least, rel=0.01)
    x, w, b, y = 32 * 256, 64 * 288, 64, 64 * 256
    assert {lines[2][0] for _, *lines in found.values()} == {4 * (x + w + b + y)}
    inside = 46**2  # of 16 rows x 3 taps, and of columns, those not in the frame
    assert found["direct"][1][0] == 4 * (2 * 64 * 32 * inside + y)
    tiles = 8 * 64 * 288 + 2 * 32 * inside  # w once per 32 outputs, x once per 32 channels
    assert found["implicit GEMM"][1][0] == 4 * (tiles + y)
    assert found["direct"][2][0] == direct_traffic()


def test_the_table_runs_what_it_names(lesson, planted):
    before = rows(lesson.printed[lesson.cell(TABLE)])
    said, _ = lesson.again(TABLE, conv2d_kernel=planted["conv_flipped"])
    assert [right for right, *_ in rows(said).values()] == ["False", "True"]

    @cuda.jit(device=True)
    def first_pixel(x, row, col, R, S, stride, padding):
        return x[0, 0, 0, 0]

    cell = lesson.cell(TILED)
    source = cell[cell.index("@cuda.jit") :]  # without the line that fetches `pixel`
    namespace = lesson.before[cell] | {"pixel": first_pixel}
    lesson.execute(source, namespace)
    said, _ = lesson.again(TABLE, implicit_gemm=namespace["implicit_gemm"])
    after = rows(said)
    assert [right for right, *_ in after.values()] == ["True", "False"]
    assert after["implicit GEMM"][2][0] < before["implicit GEMM"][2][0], "one sector is not many"


def test_a_wrong_pixel_is_replaced_by_ours(lesson, capsys):
    cell = lesson.cell("gpu.implicit_gemm_gather")
    wrong = cell.replace("return seen(", "return -seen(")
    assert wrong != cell
    namespace = lesson.before[cell] | {}
    lesson.execute(wrong, namespace)
    for code in (lesson.cell(TILED), lesson.cell(TABLE)):
        said = lesson.execute(code, namespace)
    assert [right for right, *_ in rows(said).values()] == 2 * ["True"]


def test_the_guesses_meet_what_was_counted(lesson, monkeypatch):
    shown, climbs = [], []
    monkeypatch.setattr(figures, "guesses", shown.extend)
    monkeypatch.setattr(figures, "roofline", lambda machine, found: climbs.append(found))
    lesson.again(GUESSES)
    traffic = {
        name: lines[2][0] for name, lines in rows(lesson.printed[lesson.cell(TABLE)]).items()
    }
    saved = traffic["direct"] / traffic["implicit GEMM"]
    assert [(name, result.word) for name, _, result in shown] == [
        ("products", "counted"),
        ("threads", "predicted"),
        ("tiles", "counted"),
    ]
    assert [float(result) for _, _, result in shown] == pytest.approx([8192, 0.3196, saved], 1e-3)
    assert climbs[0]["direct"] == pytest.approx(2 * 64 * 256 * 288 / traffic["direct"])
    assert climbs[0]["tile of 64 x 128"] == pytest.approx(21.33, abs=0.01)


def machine_instructions(function, kind, arch):
    """How many instructions of the GPU a kernel becomes, without those that do nothing."""
    core, types = pytest.importorskip("cuda.core"), pytest.importorskip("numba.types")
    kind = getattr(types, kind)
    try:
        ptx = compile_report(function, (kind, kind, types.Array(kind, 1, "C")), arch).ptx
    except ImportError as error:
        pytest.skip(str(error))
    code = core.ObjectCode.from_ptx(ptx.encode())
    options = core.LinkerOptions(arch=arch)
    elf = bytes(core.Linker(code, options=options).link("cubin").code)
    table, count = struct.unpack_from("<Q", elf, 40)[0], struct.unpack_from("<H", elf, 60)[0]
    found = 0
    for section in range(count):  # of the ELF file: flags, then offset and size of its content
        flags, _, at, size = struct.unpack_from("<QQQQ", elf, table + 64 * section + 8)
        if flags & 4:  # can be executed
            low = np.frombuffer(elf[at : at + size], np.uint64)[::2]  # 16 bytes an instruction
            found += int(np.sum(low & 0xFFF != 0x918))  # 0x918: no operation
    return found


def divide(a, b, out):
    out[0] = a // b


def divide_by_9(a, b, out):
    out[0] = a // NINE


def divide_by_unsigned_9(a, b, out):
    out[0] = a // UNSIGNED_NINE


def take(a, b, out):
    out[0] = a


NINE, UNSIGNED_NINE = 9, np.uint32(9)


@pytest.mark.parametrize(
    ("function", "kind", "instructions"),
    [
        (divide, "int64", 140),
        (divide, "uint32", 20),
        (divide_by_9, "int64", 25),
        (divide_by_unsigned_9, "uint32", 2),
    ],
)
def test_a_division_is_as_long_as_the_table_says(function, kind, instructions):
    found = [machine_instructions(f, kind, "sm_75") for f in (function, take)]
    assert found[0] - found[1] == pytest.approx(instructions, rel=0.1)


def test_the_lessons_kernels_compile_for_a_gpu(lesson):
    x, w, b, y = (np.zeros(s, np.float32) for s in [(1, 2, 5, 5), (3, 2, 3, 3), 3, (1, 3, 5, 5)])
    arguments = {"conv2d_kernel": (x, w, b, 1, 1, y), "conv2d_dx_kernel": (y, w, 1, 1, x)}
    arguments |= {"conv2d_dw_kernel": (y, x, 1, 1, w)}
    arguments |= {"scatter": (y, w, 1, 1, True, x)}
    arguments |= {"implicit_gemm": (x, w.reshape(3, 18), b, 3, 3, 1, 1, y)}
    for name, given in arguments.items():
        try:
            report = compile_report(lesson.namespace[name], given, "sm_75")
        except ImportError as error:
            pytest.skip(str(error))
        assert (name, report.spills, report.fp64) == (name, 0, 0)
