"""The table of machines, the roofline, and the measurement of the machine at hand."""

import itertools
import math
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import hardware, machine_probe, machine_rates
from labkit.hardware import machine, machines, measure_this_machine, roofline, runs_on, this_machine

KEYS = [
    *("laptop_cpu", "t4", "v100", "a100", "a6000", "h100", "h200", "b200"),
    *("tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e", "pynq_z1", "pynq_z2"),
]


def figures(m):
    """Every figure of a machine, by the name of its field."""
    fields = ("bandwidth", "memory", "on_chip", "power", "price")
    found = {name: getattr(m, name) for name in fields if getattr(m, name) is not None}
    return found | {f"peak.{f}": q for f, q in m.peak.items()}


# The table


def test_every_machine_of_the_course_is_in_the_table():
    assert sorted(machines()) == sorted(KEYS)
    assert all(m.key == key for key, m in machines().items())


@pytest.mark.parametrize("key", KEYS)
def test_every_figure_is_positive_and_says_where_it_comes_from(key):
    m = machine(key)
    units = {"bandwidth": ["B/s"], "memory": ["B"], "on_chip": ["B"], "power": ["W"]}
    units |= {"price": ["USD", "USD/h"]}
    assert m.peak and m.name and m.kind in ("cpu", "gpu", "tpu", "fpga") and 2010 < m.year < 2030
    for name, figure in figures(m).items():
        assert type(figure.value) is float and 0 < figure.value < math.inf, name
        assert figure.word in ("published", "predicted"), name
        title, _, address = figure.source.partition(", https://")
        assert title and address, name
        expected = units.get(name, ("OP/s" if name.startswith("peak.int") else "FLOP/s",))
        assert figure.unit in expected, name
    assert m.peak.keys() <= hardware.FORMATS.keys()


def test_a_calculated_figure_is_predicted_and_shows_its_formula():
    peak = machine("pynq_z1").peak["int8"]
    assert peak.word == "predicted" and peak.source.startswith("220 DSP x 2 OP x 100 MHz")


def test_the_table_says_which_sources_were_read():
    """`checked` is the month it was read in; `compared` is what was read where that failed."""
    table = tomllib.loads(Path(hardware.__file__).with_name("hardware.toml").read_text())
    for source in table["sources"].values():
        assert source["title"] and source["url"].startswith("https://")
        assert source.keys() <= {"title", "url", "checked", "compared"}
        assert re.fullmatch(r"20\d\d-\d\d", source.get("checked", "2000-01"))
        assert source.get("compared", "https://").startswith("https://")
    assert {"checked" in source for source in table["sources"].values()} == {True, False}


# Written down here from the vendors' figures, not from the table: FLOP/s, OP/s, B/s, B and W.
ORACLES = [
    *[("t4", "fp32", 8.1e12), ("t4", "fp16", 65e12), ("t4", "int8", 130e12)],
    *[("t4", "bandwidth", 320e9), ("t4", "memory", 16e9), ("t4", "power", 70)],
    *[("v100", "fp16", 125e12), ("v100", "fp64", 7.8e12), ("v100", "bandwidth", 900e9)],
    *[("a100", "bf16", 312e12), ("a100", "tf32", 156e12), ("a100", "bandwidth", 2.039e12)],
    *[("h100", "bf16", 989e12), ("h100", "fp8", 1979e12), ("h100", "bandwidth", 3.35e12)],
    *[("h100", "fp32", 67e12), ("h100", "memory", 80e9), ("h100", "power", 700)],
    *[("h200", "bf16", 989e12), ("h200", "memory", 141e9), ("h200", "bandwidth", 4.8e12)],
    *[("b200", "bf16", 2.25e15), ("b200", "fp4", 9e15), ("b200", "power", 1000)],
    # 2 cores x 1 unit x 128^2 x 2 FLOP x 0.70 GHz, and 2 x 2 x 128^2 x 2 x 0.94 GHz
    *[("tpu_v2", "bf16", 45.9e12), ("tpu_v3", "bf16", 123.2e12), ("tpu_v4", "bf16", 275e12)],
    # 4 x 128^2 x 2 x 1.5 GHz, and 2 cores x 4 x 128^2 x 2 x 1.75 GHz, and 2 x 256^2 x 2 x 3.5 GHz
    *[("tpu_v5e", "bf16", 197e12), ("tpu_v5p", "bf16", 459e12), ("tpu_v6e", "bf16", 918e12)],
    *[("tpu_v5e", "bandwidth", 0.82e12), ("tpu_v5e", "memory", 16e9)],
    *[("laptop_cpu", "memory", 2**34), ("laptop_cpu", "power", 15), ("t4", "price", 0.35)],
    *[("v100", "fp32", 15.7e12), ("v100", "memory", 32e9), ("v100", "power", 300)],
    *[("a100", "fp32", 19.5e12), ("a100", "memory", 80e9), ("a100", "power", 400)],
    # 84 multiprocessors x 128 and x 2 multiply-adds at 1.8 GHz, and 384 bit / 8 x 16 Gbit/s
    *[("a6000", "fp32", 38.7e12), ("a6000", "fp64", 38.7e12 / 64), ("a6000", "bandwidth", 768e9)],
    *[("a6000", "memory", 48e9), ("a6000", "power", 300)],
    *[("h200", "fp8", 1979e12), ("h200", "power", 700), ("b200", "fp32", 75e12)],
    *[("b200", "memory", 180e9), ("b200", "bandwidth", 7.7e12), ("tpu_v4", "power", 192)],
    *[("tpu_v2", "bandwidth", 700e9), ("tpu_v3", "memory", 2**35), ("tpu_v4", "memory", 2**35)],
    *[("tpu_v3", "bandwidth", 900e9), ("tpu_v4", "bandwidth", 1.2e12), ("tpu_v6e", "memory", 32e9)],
    *[("tpu_v5p", "bandwidth", 2.765e12), ("tpu_v6e", "bandwidth", 1.64e12)],
    *[("pynq_z1", "int8", 44e9), ("pynq_z1", "bandwidth", 2.1e9), ("pynq_z1", "memory", 2**29)],
    *[("pynq_z2", "int8", 44e9), ("pynq_z2", "bandwidth", 2.1e9), ("pynq_z2", "memory", 2**29)],
]


@pytest.mark.parametrize(("key", "name", "expected"), ORACLES)
def test_known_figures(key, name, expected):
    m = machine(key)
    got = m.peak[name] if name in m.peak else getattr(m, name)
    assert float(got) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("key", "peak", "bandwidth"),
    [
        ("laptop_cpu", 6 * 4.0e9 * 2 * 8 * 2, 2 * 8 * 3.2e9),  # cores, clock, FMA units, lanes, 2
        ("t4", 8.1e12, 256 / 8 * 10e9),
        ("h200", 67e12, 4.8e12),
    ],
)
def test_the_figures_that_a_lesson_prints_are_exact(key, peak, bandwidth):
    m = machine(key)
    assert (float(m.peak["fp32"]), float(m.bandwidth)) == (peak, bandwidth)


def test_no_rate_counts_sparsity():
    """Half the bits, twice the dense tensor-core rate; rates with sparsity would be twice that."""
    for m in (m for m in machines().values() if m.kind == "gpu"):
        for wide, narrow in (("tf32", "fp16"), ("fp16", "fp8"), ("fp8", "fp4"), ("int8", "int4")):
            if wide in m.peak and narrow in m.peak:
                ratio = float(m.peak[narrow]) / float(m.peak[wide])
                assert ratio == pytest.approx(2, rel=0.03), (m.key, wide, narrow)
        if "fp16" not in m.peak:
            assert m.key == "a6000", "only its fp32 is used"
            continue
        assert m.peak.get("bf16", m.peak["fp16"]) == m.peak["fp16"]
        ridge = m.ridge("fp16")
        assert 100 < ridge < 300, (m.key, ridge)  # with sparsity, H100 and B200 are above 500


def test_tpu_figures_are_per_chip_not_per_core_or_board():
    for key in (key for key in KEYS if key.startswith("tpu")):
        assert 60 < machine(key).ridge("bf16") < 600


def test_an_unknown_machine_answers_with_the_near_ones():
    with pytest.raises(ValueError) as error:
        machine("H-100")
    text = str(error.value)
    assert text.startswith("No machine 'H-100' in the table. Did you mean 'h100'")
    assert "pynq_z2" in text
    with pytest.raises(ValueError, match=r"No machine 'cray' in the table\."):
        machine("cray")


def test_nobody_can_change_the_table():
    with pytest.raises(TypeError):
        machines()["t4"] = machine("h100")


# The roofline


def test_the_roofline_meets_itself_at_the_ridge():
    t4 = machine("t4")
    ridge = 8.1e12 / 320e9  # 25.3 FLOP/B
    below, at, above = (roofline(t4, x) for x in (0.999 * ridge, ridge, 1.001 * ridge))
    assert at.ridge == pytest.approx(ridge) and t4.ridge() == pytest.approx(ridge)
    assert (below.bound, above.bound) == ("memory", "compute")
    assert float(below.attainable) == pytest.approx(0.999 * 8.1e12)
    assert float(at.attainable) == pytest.approx(8.1e12)
    assert float(above.attainable) == 8.1e12
    assert roofline(t4, t4.ridge()).bound == "compute"


def test_the_roof_is_a_prediction_in_the_unit_of_the_format():
    roof = roofline(machine("pynq_z1"), 10, "int8")
    assert (float(roof.attainable), roof.attainable.unit) == (21e9, "OP/s")
    assert roof.attainable.word == "predicted" and "Pynq-Z1" in roof.attainable.source
    assert str(roof).startswith("21 GOP/s (predicted by") and "memory-bound" in str(roof)


@given(
    st.sampled_from([(k, f) for k, m in machines().items() for f in m.peak]),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
)
def test_the_roof_rises_and_never_passes_the_peak(row, one, other):
    m, number_format = machine(row[0]), row[1]
    low, high = (roofline(m, x, number_format) for x in sorted((one, other)))
    assert 0 <= float(low.attainable) <= float(high.attainable) <= float(m.peak[number_format])
    for roof, x in ((low, min(one, other)), (high, max(one, other))):
        assert float(roof.attainable) <= x * float(m.bandwidth) * (1 + 1e-12)
        reached = float(roof.attainable) == float(m.peak[number_format])
        assert roof.bound == "compute" or not reached or math.isclose(x, roof.ridge)


@pytest.mark.parametrize("intensity", [-1, -1e-9, math.nan])
def test_an_impossible_intensity_is_refused(intensity):
    with pytest.raises(ValueError, match="FLOP per byte"):
        roofline(machine("t4"), intensity)


def test_a_format_without_a_peak_is_refused_with_those_that_have_one():
    with pytest.raises(ValueError, match=r"no peak rate in 'fp8'\. It has: fp64, fp32, fp16, int8"):
        roofline(machine("t4"), 1, "fp8")


# The machine at hand


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
    assert (here.has_cuda, here.has_tpu, here.has_pynq) == (False, False, False)
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
    assert here.pynq == "Pynq-Z2" and here.has_pynq
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


def test_runs_on_prints_the_one_line(capsys):
    runs_on()
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and out.startswith("Runs on: ") and out.endswith(".\n")
    assert this_machine().name in out


# The measurement


def test_the_measurement_is_one_of_this_machine():
    m = measure_this_machine(0.01)
    for figure in (m.peak["fp32"], m.bandwidth, m.memory):
        assert figure.word == "measured" and figure.source == this_machine().name
    assert roofline(m, 1e9).bound == "compute" and float(roofline(m, 0).attainable) == 0


def test_the_rates_are_the_work_that_was_done_over_its_time(monkeypatch):
    """On a clock that moves 0.05 s at every look, each run takes 0.05 s: the rates are exact."""
    monkeypatch.delitem(sys.modules, "torch", raising=False)  # NumPy's product alone
    products, copies, ticks = [], [], itertools.count()
    matmul, copyto = np.matmul, np.copyto

    def counted_matmul(a, b, out):
        assert a.dtype == b.dtype == out.dtype == np.float32
        products.append(2 * a.shape[0] * a.shape[1] * b.shape[1])
        return matmul(a, b, out=out)

    def counted_copyto(target, source):
        assert not np.shares_memory(target, source)
        copies.append(source.nbytes)
        return copyto(target, source)

    monkeypatch.setattr(np, "matmul", counted_matmul)
    monkeypatch.setattr(np, "copyto", counted_copyto)
    monkeypatch.setattr(machine_rates, "perf_counter", lambda: 0.05 * next(ticks))
    m = measure_this_machine(0.01)
    runs = 4  # one to warm up and three timed
    assert float(m.peak["fp32"]) == pytest.approx(products[-1] / 0.05)
    assert products[-runs:] == [products[-1]] * runs
    size = sum(copies) // runs
    assert float(m.bandwidth) == pytest.approx(2 * size / 0.05)
    assert size >> 20 == max(64, min(256, this_machine().memory >> 24))
    n, mib = round((products[-1] / 2) ** (1 / 3)), size >> 20
    assert f"product of {n} x {n}" in m.notes and f"copy of {mib} MiB" in m.notes


def test_on_a_small_machine_the_arrays_are_small(monkeypatch):
    monkeypatch.setattr(hardware, "this_machine", lambda: replace(this_machine(), memory=2**30))
    assert "copy of 64 MiB" in measure_this_machine(0.01).notes


@pytest.mark.parametrize("seconds", [0, -1, 61, math.nan])
def test_a_measurement_takes_between_nothing_and_a_minute(seconds):
    with pytest.raises(ValueError, match="seconds"):
        measure_this_machine(seconds)


def test_reading_the_table_loads_no_package():
    code = (
        "import sys, labkit.hardware as h; h.machines(); h.runs_on();"
        "print([m for m in ('numpy', 'torch', 'IPython', 'matplotlib') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_the_convolution_of_a_loaded_torch_is_counted_and_the_best_rate_wins(monkeypatch):
    torch = pytest.importorskip("torch")
    flops, ticks = [], itertools.count()
    conv2d = torch.conv2d

    def counted_conv2d(x, w, padding):
        y = conv2d(x, w, padding=padding)
        flops.append(2 * y.numel() * w[0].numel())
        return y

    monkeypatch.setattr(torch, "conv2d", counted_conv2d)
    monkeypatch.setattr(machine_rates, "best_product", lambda seconds: (1.0, "a slow product"))
    monkeypatch.setattr(machine_rates, "best_copy", lambda *_: (1.0, "a copy"))
    monkeypatch.setattr(machine_rates, "perf_counter", lambda: 0.05 * next(ticks))
    m = measure_this_machine(0.01)
    assert float(m.peak["fp32"]) == pytest.approx(flops[-1] / 0.05)
    assert m.notes.startswith("float32 3x3 convolution")
    monkeypatch.setattr(machine_rates, "best_product", lambda seconds: (1e30, "a fast product"))
    assert measure_this_machine(0.01).notes.startswith("a fast product")
