"""What only a GPU can answer, from faked ones: limits, launches, copies, energy, compilers."""

import ctypes
import os
from types import SimpleNamespace

import pytest
import torch

from labkit.gpu.occupancy_limits import multiprocessor, occupancy
from labkit.gpu.report import timing
from labkit.gpu.report.rows import NotHere
from labkit.gpu.report.sections import compilers, energy, launches, limits
from labkit.gpu.report.tasks import Bench

GPU = "NVIDIA H200"


class Stand(timing.Host):
    """A GPU in name."""

    name = GPU


ON = Bench(Stand(), dry=False)
DRY = Bench(timing.Host(), dry=True)


@pytest.fixture(autouse=True)
def an_h200(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: GPU)


# Limits


class Loaded:
    """A kernel as CUDA has loaded it."""

    regs_per_thread = 40
    shared_mem_per_block = 8192
    more = 0  # blocks that CUDA has beyond ours

    def max_cooperative_grid_blocks(self, threads):
        ours = occupancy(self.regs_per_thread, self.shared_mem_per_block, threads, "sm_90").blocks
        return 132 * (ours + self.more)


@pytest.fixture
def device(monkeypatch):
    """numba.cuda on an H200."""
    sm = multiprocessor("sm_90")
    found = SimpleNamespace(
        compute_capability=(9, 0),
        MULTIPROCESSOR_COUNT=132,
        MAX_THREADS_PER_MULTIPROCESSOR=32 * sm.warps,
        MAX_BLOCKS_PER_MULTIPROCESSOR=sm.blocks,
        MAX_REGISTERS_PER_MULTIPROCESSOR=sm.registers,
        MAX_SHARED_MEMORY_PER_MULTIPROCESSOR=sm.shared_bytes,
    )
    monkeypatch.setattr(limits, "cuda", SimpleNamespace(get_current_device=lambda: found))
    return found


def test_our_limits_are_cudas(device):
    for name in limits.ATTRIBUTES:
        row = limits.limit_row(ON, name)
        assert row.ok is True and row.says == "equal", name
    device.MAX_BLOCKS_PER_MULTIPROCESSOR = 24
    row = limits.limit_row(ON, "blocks")
    assert row.ok is False and row.says == "ours is +8"
    assert [n.word for n in row.numbers.values()] == ["measured", "predicted"]


def kernel(loaded, py_func=lambda a: None):
    return SimpleNamespace(compile=lambda signature: loaded, py_func=py_func)


def test_blocks_and_registers_stand_beside_cudas(device, monkeypatch):
    report = SimpleNamespace(registers=36, quantity=lambda name: limits.predicted(36, "", "x"))
    monkeypatch.setattr(limits, "compile_report", lambda *given: report)
    row = limits.fitting_row(ON, kernel(Loaded()), limits.MATMUL, (16, 16), "a lesson")
    assert row.ok is True and row.lesson == "a lesson"
    assert row.says == "the blocks are equal; +4 registers when loaded"
    assert float(row.numbers["blocks, by CUDA"]) == float(row.numbers["blocks, by us"]) == 6
    one_less = Loaded()
    one_less.more = -1
    row = limits.fitting_row(ON, kernel(one_less), limits.MATMUL, 256, "a lesson")
    assert row.ok is False and "our number of blocks is off by +1" in row.says


def test_without_our_compiler_the_blocks_are_compared_all_the_same(device, monkeypatch):
    def broken(*given):
        raise AttributeError("nvJitLink is too old")

    monkeypatch.setattr(limits, "compile_report", broken)
    row = limits.fitting_row(ON, kernel(Loaded()), limits.MATMUL, 256, "a lesson")
    assert row.ok is True and "compile_report gave nothing (nvJitLink is" in row.says


def test_a_gpu_whose_limits_nobody_knows(device):
    device.compute_capability = (12, 0)
    with pytest.raises(NotHere, match="sm_120 are not known"):
        limits.limit_row(ON, "warps")


# Launches and copies


@pytest.fixture
def cuda_of_torch(monkeypatch):
    """PyTorch's CUDA on the CPU."""
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    real = torch.empty

    def empty(*size, device=None, **named):
        return real(*size, **named)

    monkeypatch.setattr(torch, "empty", empty)


def test_a_copy_stands_beside_the_time_by_the_bus(cuda_of_torch, monkeypatch):
    monkeypatch.setattr(launches, "median", lambda bench, copy, n: copy() or next(seconds))
    seconds = iter([2e-3, 8e-3])
    row = launches.copy_row(ON, 63_015_000)
    assert row.lesson == launches.COPIES and float(row.numbers["pinned"]) == 2e-3
    assert float(row.numbers["by the bus"]) == pytest.approx(1e-3, rel=1e-3)
    assert row.says == "pinned is 4.0 times as fast; the time by the bus is 2.0 times too low"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA A100-SXM4-80GB")
    seconds = iter([2e-3, 8e-3])
    assert "no prediction for this GPU's bus" in launches.copy_row(ON, 4096).says


def test_a_copy_that_is_not_what_was_sent_is_refused(cuda_of_torch, monkeypatch):
    monkeypatch.setattr(launches, "median", lambda bench, copy, n: 1e-3)  # which copies nothing
    with pytest.raises(RuntimeError, match="not what was sent"):
        launches.copy_row(ON, 4096)


def test_launches_are_counted_out(monkeypatch):
    calls = []
    row = launches.launch_row(DRY, lambda bench: lambda: calls.append(1))
    assert {*row.numbers} == {"queued", "to its end"} and calls


def test_feeding_gives_the_same_losses():
    row = launches.feeding_row(DRY)
    assert row.ok is True and row.lesson == "training"


@pytest.mark.parametrize("work", [launches.graph_row, lambda bench: launches.copy_row(bench, 64)])
def test_what_needs_a_gpu_says_so(work):
    with pytest.raises(NotHere, match="GPU"):
        work(DRY)


# Energy


class Nvml:
    """NVML that has used 700 J a second."""

    code = 0

    def __init__(self, clock):
        self.clock = clock

    def nvmlInit_v2(self):
        return 0

    def nvmlDeviceGetHandleByIndex_v2(self, index, device):
        return 0

    def nvmlDeviceGetTotalEnergyConsumption(self, device, found):
        found._obj.value = int(700_000 * self.clock())
        return self.code

    def nvmlDeviceGetClockInfo(self, device, kind, found):
        found._obj.value = 1980
        return 0


@pytest.fixture
def nvml(monkeypatch):
    """NVML, and a clock that goes on by a tenth of a second whenever it is looked at."""
    now = [0.0]

    def tick():
        now[0] += 0.1
        return now[0]

    found = Nvml(lambda: now[0])
    monkeypatch.setattr(ctypes, "CDLL", lambda name: found)
    clock = SimpleNamespace(perf_counter=tick, sleep=lambda seconds: now.__setitem__(0, now[0] + 2))
    monkeypatch.setattr(energy, "time", clock)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    return found


def test_power_and_energy_of_a_flop(nvml):
    idle = energy.idle_row(ON)
    assert float(idle.numbers["power"]) == pytest.approx(700, rel=0.1)
    row = energy.energy_row(ON, "cuBLAS, float32", lambda: (lambda: None, 1e12, "FLOP"))
    times = float(row.numbers["rate"]) / 1e12
    assert float(row.numbers["power"]) == pytest.approx(700, rel=0.1)
    each = 1e12 * float(row.numbers["power"]) / (times * 1e12)
    assert float(row.numbers["energy"]) == pytest.approx(each)
    assert float(row.numbers["by the data sheet"]) == pytest.approx(700 / 67)  # W over TFLOP/s
    assert row.says.startswith("the data sheet's energy is") and row.lesson == "training"
    assert float(row.numbers["clock"]) == 1980


def test_without_nvml_or_its_counter(monkeypatch, nvml):
    nvml.code = 3
    with pytest.raises(NotHere, match="TotalEnergyConsumption gives 3"):
        energy.idle_row(ON)

    def missing(name):
        raise OSError

    monkeypatch.setattr(ctypes, "CDLL", missing)
    with pytest.raises(NotHere, match=r"NVML .* is not here"):
        energy.idle_row(ON)


# Other compilers


def test_without_other_compilers(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    monkeypatch.setattr(compilers, "find_spec", lambda name: None)
    for name, work in compilers.work(ON, {}):
        with pytest.raises(
            NotHere, match="nvcc is not here" if "nvcc" in name else "Triton is not"
        ):
            work()


def test_what_nvcc_says_is_told(tmp_path, monkeypatch):
    (tmp_path / "nvcc").write_text("#!/bin/sh\necho no host compiler >&2; exit 1\n")
    (tmp_path / "nvcc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    with pytest.raises(RuntimeError, match="nvcc: no host compiler"):
        compilers.nvcc_row(ON)


def test_the_tile_in_cpp_is_called_with_pointers(monkeypatch):
    stream = SimpleNamespace(cuda_stream=7)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    got = []

    def function(*given):
        got.append(given)
        return 0 if len(got) == 1 else 700

    a = torch.ones(4)
    run = compilers.by_library(function, 2)((a, a), (a,))
    run()
    assert [p.value for p in got[0][:3]] == [a.data_ptr()] * 3 and got[0][3] == 2
    with pytest.raises(RuntimeError, match="error 700"):
        run()
