"""labkit.machine_probe: what this machine is, read from system files that the test writes."""

import sys

import pytest

from labkit import machine_probe
from labkit.machine_probe import this_machine


@pytest.fixture
def another_machine(tmp_path, monkeypatch):
    """System files written by the test in place of this machine's own, and no commands."""
    monkeypatch.setattr(machine_probe, "_ROOT", tmp_path)
    monkeypatch.setattr(machine_probe, "_run", lambda *command: "")
    monkeypatch.delenv("BOARD", raising=False)
    this_machine.cache_clear()

    def write(path, text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    yield write
    this_machine.cache_clear()


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads Linux's files")


@linux
def test_a_plain_machine(another_machine):
    another_machine("proc/cpuinfo", "model name\t: Intel(R) Xeon(R) CPU @ 2.20GHz\nflags: avx2\n")
    here = this_machine()
    assert here.cpu == "Intel Xeon 2.2 GHz"
    assert here.name == f"Intel Xeon 2.2 GHz, {here.cores} core{'s' * (here.cores > 1)}"
    assert (here.gpus, here.pynq) == ((), "")
    assert (here.has_cuda, here.has_tpu) == (False, False)
    assert str(here).endswith("no CUDA GPU, no TPU, no Pynq board")


@linux
@pytest.mark.parametrize(
    ("maker", "shown"),
    [
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("11th Gen Intel(R) Core(TM) i5-1135G7 @ 2.40GHz", "11th Gen Intel Core i5-1135G7 2.4 GHz"),
        ("Intel(R) Xeon(R) Gold 6148 CPU @ 2.00GHz", "Intel Xeon Gold 6148 2.0 GHz"),
    ],
)
def test_cpu_names_lose_their_trademarks(another_machine, maker, shown):
    another_machine("proc/cpuinfo", f"model name\t: {maker}\n")
    assert this_machine().cpu == shown


@linux
@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"sys/fs/cgroup/cpu.max": "max 100000"}, 8),
        ({"sys/fs/cgroup/cpu.max": "150000 100000"}, 2),
        ({"sys/fs/cgroup/cpu.max": "10000 100000"}, 1),
        ({"sys/fs/cgroup/cpu.max": "9900000 100000"}, 8),
    ],
)
def test_cores_are_those_a_container_leaves(another_machine, monkeypatch, files, cores):
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: set(range(8)))
    for path, text in files.items():
        another_machine(path, text)
    assert this_machine().cores == cores


@linux
def test_memory_is_what_a_container_leaves(another_machine):
    another_machine("sys/fs/cgroup/memory.max", str(2**28))
    assert this_machine().memory == 2**28
    assert "0 GiB" in str(this_machine())


@linux
def test_accelerators_are_found_by_the_traces_they_leave(another_machine):
    for bus in ("0000:3b:00.0", "0000:5e:00.0"):
        path = f"proc/driver/nvidia/gpus/{bus}/information"
        another_machine(path, "Model: \t\t NVIDIA H200\nIRQ: 7\n")
    for slot, device in (("00:04.0", "0x0063"), ("00:05.0", "0x0063"), ("00:06.0", "0x1234")):
        another_machine(f"sys/bus/pci/devices/0000:{slot}/vendor", "0x1ae0\n")
        another_machine(f"sys/bus/pci/devices/0000:{slot}/device", device)
    another_machine("proc/device-tree/chosen/pynq_board", "Pynq-Z2\0")
    here = this_machine()
    assert here.gpus == ("NVIDIA H200", "NVIDIA H200") and here.has_cuda and here.driver == ""
    assert here.tpu_chips == 2 and here.has_tpu  # 0x1234 is Google's too, but no TPU
    assert here.pynq == "Pynq-Z2"
    assert "NVIDIA H200 and NVIDIA H200, 2 TPU chip(s), Pynq-Z2" in str(here)


@linux
@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15", "535"),
        (
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build",
            "580",
        ),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  390.48 Thu Mar 22", "390"),
    ],
)
def test_the_driver_is_named_beside_its_gpus(another_machine, line, version):
    another_machine("proc/driver/nvidia/version", line + "\nGCC version:  gcc version 12.3.0\n")
    assert this_machine().driver == ""  # a driver without a GPU
    this_machine.cache_clear()
    another_machine("proc/driver/nvidia/gpus/0000:3b:00.0/information", "Model: \t Tesla T4\n")
    here = this_machine()
    assert here.driver.partition(".")[0] == version and here.driver in line.split()
    assert f"Tesla T4 (driver {here.driver}), no TPU" in str(here)


@pytest.mark.parametrize(("version", "driver"), [("566.36", "566.36"), ("[N/A]", "")])
def test_nvidia_smi_is_asked_where_the_driver_leaves_no_files(
    another_machine, monkeypatch, version, driver
):
    def answer(*command):
        if command[0] != "nvidia-smi":
            return ""
        assert command[1:] == ("--query-gpu=name,driver_version", "--format=csv,noheader")
        return f"Tesla T4, {version}\nTesla T4, {version}"

    monkeypatch.setattr(machine_probe, "_run", answer)
    here = this_machine()
    assert here.gpus == ("Tesla T4", "Tesla T4") and here.driver == driver


def test_a_mac_is_asked_by_sysctl(another_machine, monkeypatch):
    answers = {
        "machdep.cpu.brand_string": "Apple M2",
        "hw.memsize": str(2**34),
    }
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    monkeypatch.setattr("platform.release", lambda: "23.1.0")
    monkeypatch.setattr("os.sysconf", lambda name: (_ for _ in ()).throw(ValueError(name)))
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    monkeypatch.setattr(machine_probe, "_run", lambda *c: answers.get(c[-1], ""))
    here = this_machine()
    assert (here.cpu, here.os, here.memory) == ("Apple M2", "macOS", 2**34)
    assert here.cores >= 1


def test_a_command_that_is_missing_or_hangs_is_no_answer(monkeypatch):
    assert machine_probe._run("no-such-command-anywhere") == ""
    assert machine_probe._run(sys.executable, "-c", "raise SystemExit(3)") == ""
    assert machine_probe._run(sys.executable, "-c", "print(7)") == "7"
    monkeypatch.setattr(machine_probe, "_PATIENCE", 0.5)
    assert machine_probe._run(sys.executable, "-c", "import time; time.sleep(600)") == ""
