"""labkit.gpu.occupancy equals NVIDIA's calculator, names the limiter, and draws it."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from labkit.figures import style
from labkit.gpu import occupancy, occupancy_limits
from labkit.gpu.occupancy_limits import LIMITS

# What cuda_occupancy.h of CUDA 13.0 says, the code behind NVIDIA's occupancy calculator (printed by
# the program below): arch, registers, shared bytes, threads, blocks, limiters.
KNOWN = """
sm_75 32 0 256 4 warps
sm_75 64 0 1024 1 warps and registers
sm_75 65 0 1024 0 registers
sm_75 255 32768 128 2 registers and shared memory
sm_75 32 20000 64 3 shared memory
sm_80 32 0 1024 2 warps and registers
sm_80 96 8192 256 2 registers
sm_80 128 8192 256 2 registers
sm_80 16 0 32 32 blocks
sm_80 40 49152 128 3 shared memory
sm_80 32 166912 512 1 shared memory
sm_80 32 166913 512 0 shared memory
sm_86 40 0 512 3 warps and registers
sm_86 32 16384 256 5 shared memory
sm_87 32 100000 96 1 shared memory
sm_89 24 0 64 24 warps and blocks
sm_89 168 0 384 1 registers
sm_90 8 12288 32 17 shared memory
sm_90 96 9216 256 2 registers
sm_90 168 200000 384 1 registers and shared memory
sm_90 37 0 320 4 registers
sm_90 33 0 1 32 blocks
sm_100 255 0 256 1 registers
sm_100 64 232448 1024 1 registers and shared memory
sm_100 72 1024 992 0 registers
sm_103 48 30000 160 7 shared memory
"""


@pytest.mark.parametrize("case", KNOWN.strip().splitlines())
def test_known_cases_of_the_vendors_calculator(case):
    arch, registers, shared, threads, blocks, *limiter = case.split()
    found = occupancy(int(registers), int(shared), int(threads), arch)
    assert (found.blocks, found.limiter) == (int(blocks), " ".join(limiter))
    assert found.warps == found.blocks * -(-int(threads) // 32)


def test_the_example_of_the_best_practices_guide():
    """128 threads with 37 registers each: 12 blocks, 75 %; 320 threads: 4 blocks, 63 %."""
    for threads, blocks, percent in ((128, 12, 75), (320, 4, 62.5)):
        found = occupancy(37, 0, threads, "sm_80")  # as many warps and registers as in 7.0
        assert (found.blocks, found.share.value, found.limiter) == (blocks, percent, "registers")


CALCULATOR = r"""
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include "cuda_occupancy.h"
int main() {
    int major, minor, warps, kib, registers, shared, threads;
    while (scanf("%d %d %d %d %d %d %d", &major, &minor, &warps, &kib,
                 &registers, &shared, &threads) == 7) {
        cudaOccDeviceProp device{};
        device.computeMajor = major, device.computeMinor = minor;
        device.warpSize = 32, device.numSms = 1;
        device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = 32 * warps;
        device.regsPerBlock = device.regsPerMultiprocessor = 65536;
        device.reservedSharedMemPerBlock = major >= 8 ? 1024 : 0;
        device.sharedMemPerMultiprocessor = 1024 * kib;
        device.sharedMemPerBlock = 48 * 1024;
        device.sharedMemPerBlockOptin = 1024 * kib - device.reservedSharedMemPerBlock;
        cudaOccFuncAttributes kernel{};
        kernel.maxThreadsPerBlock = 1024, kernel.numRegs = registers;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        kernel.maxDynamicSharedSizeBytes = shared;
        cudaOccDeviceState state{};
        state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;
        cudaOccResult result{};
        int status = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &device, &kernel, &state, threads, shared);
        printf("%d %d %u\n", status, result.activeBlocksPerMultiprocessor,
               result.limitingFactors);
    }
}
"""


def calculator(folder, cases):
    """What NVIDIA's header says of (arch, registers, shared bytes, threads): (blocks, limiters)."""
    package = importlib.util.find_spec("nvidia.cu13").submodule_search_locations[0]
    header = Path(package) / "include"
    program = folder / "calculator"
    (folder / "calculator.cpp").write_text(CALCULATOR)
    command = ["c++", "-w", f"-I{header}", "-o", program, folder / "calculator.cpp"]
    subprocess.run(command, check=True)
    rows = []
    for arch, *sizes in cases:
        warps, _, kib = LIMITS[arch]
        rows.append(f"{int(arch[3:-1])} {arch[-1]} {warps} {kib} {' '.join(map(str, sizes))}\n")
    said = subprocess.run(
        [program], input="".join(rows), capture_output=True, text=True, check=True
    )
    answers = [tuple(map(int, line.split())) for line in said.stdout.splitlines()]
    assert all(status == 0 for status, *_ in answers)
    flags = {1: "warps", 8: "blocks", 2: "registers", 4: "shared memory"}  # in our order
    return [
        (n, " and ".join(name for bit, name in flags.items() if bits & bit))
        for _, n, bits in answers
    ]


def test_random_cases_equal_the_vendors_calculator(tmp_path):
    """Where the compiler package brought the header, and there is a C++ compiler: 4,000 cases."""
    try:
        spec = importlib.util.find_spec("nvidia.cu13")
    except ModuleNotFoundError:
        spec = None
    if spec is None or not shutil.which("c++"):
        pytest.skip("cuda_occupancy.h or a C++ compiler is missing")
    rng = np.random.default_rng(0)
    cases = [
        (arch, int(rng.integers(1, 256)), int(shared), int(rng.integers(1, 1025)))
        for arch in LIMITS
        for most in (1, 5000, 60_000, 240_000)
        for shared in rng.integers(0, most, 125)
    ]
    for (arch, *sizes), expected in zip(cases, calculator(tmp_path, cases), strict=True):
        found = occupancy(*sizes, arch)
        assert (found.blocks, found.limiter) == expected, (arch, *sizes)


def test_the_limits_of_each_sm_are_those_of_nvidias_header():
    """arch_traits.h of CCCL: the device's own numbers, which cuda_occupancy.h only takes."""
    try:
        folder = importlib.util.find_spec("nvidia.cu13").submodule_search_locations[0]
        text = (Path(folder) / "include/cccl/cuda/__device/arch_traits.h").read_text("utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        pytest.skip("arch_traits.h is missing: it comes with the compiler package")

    def numbers(arch):
        own = text.split(f"arch_traits<arch_id::{arch}>() noexcept")[1].split("return")[0]
        if as_in := re.search(r"= ::cuda::arch_traits<arch_id::(sm_\d+)>", own):
            return numbers(as_in[1])
        read = dict(re.findall(r"__traits\.(\w+) += (\d+)(?: \* 1024)?;", own))
        names = ("threads", "blocks", "shared_memory")
        threads, blocks, kib = (int(read[f"max_{name}_per_multiprocessor"]) for name in names)
        return threads // 32, blocks, kib

    assert {arch: numbers(arch) for arch in LIMITS} == LIMITS


KERNELS = st.tuples(st.integers(1, 255), st.integers(0, 240_000), st.integers(1, 1024))
ARCHS = st.sampled_from(sorted(LIMITS))


@given(KERNELS, ARCHS)
def test_what_is_active_fits(kernel, arch):
    registers, shared, _ = kernel
    found = occupancy(*kernel, arch)
    warps, blocks, kib = LIMITS[arch]
    kept = 0 if arch == "sm_75" else 1024
    assert 0 <= found.share.value <= 100
    assert found.warps <= warps and found.blocks <= blocks
    assert found.warps * 32 * registers <= 65536
    assert found.blocks * (shared + kept) <= kib * 1024
    assert found.blocks == min(found.limits.values())
    assert {n for n in found.limits.values() if n == found.blocks} == {
        found.limits[name] for name in found.limiter.split(" and ")
    }


@given(KERNELS, KERNELS, ARCHS)
def test_more_of_anything_never_allows_more_blocks(one, other, arch):
    less = occupancy(*map(min, one, other), arch)
    more = occupancy(*map(max, one, other), arch)
    assert all(more.limits[name] <= n for name, n in less.limits.items())


def test_a_report_brings_its_numbers_and_its_architecture():
    report = SimpleNamespace(registers=96, shared_bytes=8192, arch="sm_90")
    found = occupancy(report, 256)
    assert found == occupancy(96, 8192, 256, "sm_90") == occupancy(report, threads=(16, 16))
    assert found.arch == "sm_90" and found.limiter == "registers"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((32, 0, 2048), "The threads are 2048, but must be from 1 to 1,024"),
        ((32, 0, 0), "The threads are 0"),
        ((32, 0), "The threads are None"),
        ((256, 0, 32), "The registers are 256"),
        ((32.5, 0, 32), "The registers are 32.5"),
        ((32, -1, 32), "The bytes of shared memory are -1"),
        ((32, 0, 32, "sm_52"), "'sm_52' are not known here, but sm_75, .*sm_90"),
    ],
)
def test_bad_input_is_a_sentence(arguments, said):
    with pytest.raises(ValueError, match=said):
        occupancy(*arguments)


def test_the_text_names_the_limiter_and_the_provenance():
    found = occupancy(96, 8192, 256)
    assert repr(found) == (
        "2 blocks of 256 threads, 16 warps, on an SM: 25 % (predicted by the limits of sm_80).\n"
        "Limited by registers. Each limit allows blocks: warps 8, blocks 32, registers 2, "
        "shared memory 18."
    )


@pytest.mark.parametrize(
    ("arguments", "boxes"),
    [
        ((96, 8192, 256, "sm_80"), [8, 32, 2, 18]),
        ((37, 1000, 320, "sm_90"), [6, 32, 4, 32]),  # shared memory allows 103: cut at 32
        ((16, 0, 64, "sm_75"), [16, 16, 16]),  # no shared memory, no limit of it
        ((255, 0, 1024, "sm_90"), [2, 32, 0, 32]),
    ],
)
def test_the_picture_has_a_box_for_each_block_and_marks_the_limiter(monkeypatch, arguments, boxes):
    shown = []
    monkeypatch.setattr(
        occupancy_limits, "show", lambda *figure_and_alt: shown.append(figure_and_alt)
    )
    found = occupancy(*arguments)
    found.draw()
    (figure, alt), (axes,) = shown[0], shown[0][0].axes
    drawn = [c.get_paths()[0].get_extents() for c in axes.collections]
    rows = [round(box.y0 + 0.35) for box in drawn]
    assert [rows.count(y) for y in range(len(found.limits))] == boxes
    orange = {
        y
        for y, c in zip(rows, axes.collections, strict=True)
        if to_rgb(c.get_edgecolor()[0]) == to_rgb(style.ORANGE)
    }
    names = [*found.limits]
    marked = {names[y] for y in orange} or {found.limiter}  # 0 blocks have no box
    assert marked == {*found.limiter.split(" and ")}
    assert "blocks" in axes.get_xlabel() and "filled" in axes.get_xlabel()
    notes = [text.get_text() for text in axes.texts]
    assert [names[i] for i, note in enumerate(notes) if "the limit" in note] == found.limiter.split(
        " and "
    )
    assert ["cut here" in note for note in notes] == [
        n > LIMITS[found.arch][1] for n in found.limits.values()
    ]
    assert f"Limited by {found.limiter}." in alt and style.png(figure)


def test_a_report_for_another_architecture_is_not_judged():
    report = SimpleNamespace(registers=32, shared_bytes=0, arch="sm_90")
    assert occupancy(report, 128).arch == occupancy(report, 128, arch="sm_90").arch == "sm_90"
    with pytest.raises(ValueError, match="The report is for sm_90: compile the kernel for sm_80"):
        occupancy(report, 128, arch="sm_80")
    assert occupancy(np.int64(32), 0, 128).blocks == occupancy(32, 0, 128, "sm_80").blocks
