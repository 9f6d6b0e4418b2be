"""The table of machines, the roofline, and the measurement of the machine at hand."""

import math
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit import extras, hardware
from labkit.hardware import machine, machines, measure_this_machine, roofline, runs_on, this_machine

TABLE = tomllib.loads(Path(hardware.__file__).with_name("hardware.toml").read_text("utf-8"))
KEYS = [
    *("laptop_cpu", "server_cpu", "t4", "v100", "a100", "a6000", "h100", "h200", "b200"),
    *("l4", "l40s", "rtx_4090", "rtx_5090", "mi300x", "m3_max"),
    *("tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e", "tpu_v5p", "tpu_v6e", "pynq_z1", "pynq_z2"),
]
OF_A_SOURCE = {"title", "url", "date", "status", "checked", "compared", "with_host"}


def figures(m):
    """Every figure of a machine, by the name of its field."""
    fields = ("bandwidth", "memory", "on_chip", "power", "die", "price")
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
    units |= {"die": ["mm²"], "price": ["USD", "USD/h"]}
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
    for source in TABLE["sources"].values():
        assert source["title"] and source["url"].startswith("https://")
        assert source.keys() <= OF_A_SOURCE
        assert re.fullmatch(r"20\d\d-\d\d", source.get("checked", "2000-01"))
        assert source["date"] != "not read" or "checked" not in source
        assert source.get("compared", "https://").startswith("https://")
    assert {"checked" in source for source in TABLE["sources"].values()} == {True, False}


def test_every_price_says_of_which_month_it_is():
    priced = [m.price for m in machines().values() if m.price is not None]
    assert len(priced) == 4
    for price in priced:
        assert price.word == "published" and re.search(r"\(20\d\d-\d\d\), https://", price.source)
    row = {"name": "x", "kind": "gpu", "year": 2020, "peak": {}}
    row["price"] = {"value": 1.0, "unit": "USD/h", "source": "page"}
    undated = {"page": {"title": "A page", "url": "https://example.org"}}
    with pytest.raises(ValueError, match=r"price of x comes from page, which has no month\. Add"):
        hardware._machine("x", row, undated)
    undated["page"]["date"] = "not given"
    with pytest.raises(ValueError, match="no month"):
        hardware._machine("x", row, undated)


def test_every_price_says_whether_the_host_computer_is_in_it():
    said = {m.key: m.price_with_host for m in machines().values() if m.price is not None}
    assert said == {"t4": False, "h100": True, "tpu_v5e": True, "tpu_v5p": True}
    assert machine("a100").price_with_host is None
    row = {"name": "x", "kind": "gpu", "year": 2020, "peak": {}}
    row["price"] = {"value": 1.0, "unit": "USD/h", "source": "page"}
    page = {"title": "A page", "url": "https://example.org", "date": "2026-05"}
    with pytest.raises(ValueError, match=r"does not say whether the host computer is in its"):
        hardware._machine("x", row, {"page": page})


# Written down here from the vendors' figures, not from the table: FLOP/s, OP/s, B/s, B and W.
ORACLES = [
    *[("t4", "fp32", 8.1e12), ("t4", "fp16", 65e12), ("t4", "int8", 130e12)],
    *[("t4", "bandwidth", 320e9), ("t4", "memory", 15 * 2**30), ("t4", "power", 70)],
    *[("v100", "fp16", 125e12), ("v100", "fp64", 7.8e12), ("v100", "bandwidth", 900e9)],
    *[("a100", "bf16", 312e12), ("a100", "tf32", 156e12), ("a100", "bandwidth", 2.039e12)],
    *[("h100", "bf16", 989e12), ("h100", "fp8", 1979e12), ("h100", "bandwidth", 3.35e12)],
    *[("h100", "fp32", 67e12), ("h100", "memory", 81_559 * 2**20), ("h100", "power", 700)],
    *[("h200", "bf16", 989e12), ("h200", "memory", 143_771 * 2**20), ("h200", "bandwidth", 4.8e12)],
    *[("b200", "bf16", 2.25e15), ("b200", "fp4", 9e15), ("b200", "power", 1000)],
    # 2 cores x 1 unit x 128^2 x 2 FLOP x 0.70 GHz, and 2 x 2 x 128^2 x 2 x 0.94 GHz
    *[("tpu_v2", "bf16", 45.9e12), ("tpu_v3", "bf16", 123.2e12), ("tpu_v4", "bf16", 275e12)],
    # 4 x 128^2 x 2 x 1.5 GHz, and 2 cores x 4 x 128^2 x 2 x 1.75 GHz, and 2 x 256^2 x 2 x 3.5 GHz
    *[("tpu_v5e", "bf16", 197e12), ("tpu_v5p", "bf16", 459e12), ("tpu_v6e", "bf16", 918e12)],
    *[("tpu_v5e", "bandwidth", 0.82e12), ("tpu_v5e", "memory", 2**34)],
    *[("laptop_cpu", "memory", 2**34), ("laptop_cpu", "power", 15), ("t4", "price", 0.35)],
    # 96 cores x 3.55 GHz x 2 units x 8 lanes x 2, and 12 channels x 8 B x 4800 MT/s
    *[("server_cpu", "fp32", 10.9e12), ("server_cpu", "bandwidth", 460.8e9)],
    *[("server_cpu", "memory", 12 * 2**36), ("server_cpu", "power", 360)],
    # 18,176 cores x 2 x 2.52 GHz; 512 tensor cores x 128 x 2.52 GHz, and 680 x 128 x 2.407 GHz
    *[("l40s", "fp32", 91.6e12), ("l40s", "bf16", 362e12), ("l40s", "memory", 46_068 * 2**20)],
    *[("rtx_4090", "bf16", 165.2e12), ("rtx_4090", "memory", 24_564 * 2**20)],
    *[("rtx_4090", "bandwidth", 384 / 8 * 21e9), ("rtx_5090", "bandwidth", 512 / 8 * 28e9)],
    *[("rtx_5090", "bf16", 209.5e12), ("rtx_5090", "memory", 32_607 * 2**20)],
    *[("l4", "bf16", 121e12), ("l4", "memory", 23_034 * 2**20), ("l4", "power", 72)],
    # 304 compute units x 2,048 x 2.1 GHz, and 8 stacks x 1,024 bit / 8 x 5.2 Gbit/s
    *[("mi300x", "bf16", 1307.4e12), ("mi300x", "bandwidth", 5.3e12)],
    *[("m3_max", "fp32", 40 * 128 * 2 * 1.398e9), ("m3_max", "memory", 2**37)],
    *[("h100", "price", 10.8), ("tpu_v5e", "price", 1.2), ("tpu_v5p", "price", 4.2)],
    *[("v100", "fp32", 15.7e12), ("v100", "memory", 2**35), ("v100", "power", 300)],
    *[("a100", "fp32", 19.5e12), ("a100", "memory", 80 * 2**30), ("a100", "power", 400)],
    # 84 multiprocessors x 128 and x 2 multiply-adds at 1.8 GHz, and 384 bit / 8 x 16 Gbit/s
    *[("a6000", "fp32", 38.7e12), ("a6000", "fp64", 38.7e12 / 64), ("a6000", "bandwidth", 768e9)],
    *[("a6000", "memory", 49_140 * 2**20), ("a6000", "power", 300)],
    # 84 multiprocessors x 4 tensor cores x 128 multiply-adds x 2 FLOP x 1.8 GHz, and half and twice
    *[("a6000", f, 84 * 4 * 128 * 2 * 1.8e9) for f in ("bf16", "fp16")],
    *[("a6000", "tf32", 77.4e12), ("a6000", "int8", 309.7e12)],
    *[("h200", "fp8", 1979e12), ("h200", "power", 700), ("b200", "fp32", 75e12)],
    *[("b200", "memory", 183_359 * 2**20), ("b200", "bandwidth", 7.7e12), ("tpu_v4", "power", 192)],
    *[("tpu_v2", "bandwidth", 700e9), ("tpu_v3", "memory", 2**35), ("tpu_v4", "memory", 2**35)],
    *[
        ("tpu_v3", "bandwidth", 900e9),
        ("tpu_v4", "bandwidth", 1.2e12),
        ("tpu_v6e", "memory", 2**35),
    ],
    *[("tpu_v5p", "bandwidth", 2.765e12), ("tpu_v6e", "bandwidth", 1.64e12)],
    *[("tpu_v2", "die", 625), ("tpu_v3", "die", 700), ("tpu_v4", "die", 600)],
    *[("v100", "die", 815), ("a100", "die", 826)],
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


@pytest.mark.parametrize("key", KEYS)
def test_memory_is_that_of_the_driver_and_not_that_of_the_name(key):
    """Whole MiB; the 80 GB of a name are neither 80 x 10^9 bytes nor always 80 GiB."""
    memory = float(machine(key).memory)
    assert memory % 2**20 == 0
    named = re.search(r"(\d+) GB", machine(key).name)
    if named and key != "b200":  # of 180 GiB, the driver keeps nearly one
        assert 1e9 < memory / int(named[1]) <= 2**30
    status = [
        s["status"] for s in TABLE["sources"].values() if s["title"] in machine(key).memory.source
    ]
    by_driver = machine(key).kind == "gpu" and key != "m3_max"  # which shares the computer's
    assert not by_driver or status == ["read from the driver"]


def test_weights_fit_a_t4_by_its_driver_but_not_by_its_name():
    """Llama 3.1 8B in 16 bits: lesson choosing_hardware opens with it."""
    weights = 2 * 8_030_261_248
    assert 16e9 < weights < float(machine("t4").memory)
    assert round((float(machine("t4").memory) - weights) / 1e6) == 46


@pytest.mark.parametrize(
    ("key", "number_format", "each_cycle"),
    [  # FLOP or OP in each cycle of the clock, from the units of the machine
        ("laptop_cpu", "fp32", 6 * 2 * 8 * 2),
        ("server_cpu", "fp32", 96 * 2 * 8 * 2),
        ("t4", "fp32", 40 * 64 * 2),
        ("t4", "fp64", 40 * 2 * 2),
        ("a6000", "fp32", 84 * 128 * 2),
        ("a6000", "bf16", 84 * 4 * 128 * 2),
        ("tpu_v2", "bf16", 2 * 1 * 128**2 * 2),
        ("tpu_v3", "bf16", 2 * 2 * 128**2 * 2),
        ("tpu_v4", "bf16", 2 * 4 * 128**2 * 2),
        ("tpu_v5e", "bf16", 4 * 128**2 * 2),
        ("tpu_v5p", "bf16", 2 * 4 * 128**2 * 2),
        ("pynq_z1", "int8", 220 * 2),
        ("pynq_z2", "int8", 220 * 2),
    ],
)
def test_the_peak_is_that_of_the_clock(key, number_format, each_cycle):
    m = machine(key)
    assert float(m.rate(number_format)) == pytest.approx(each_cycle * m.clock, rel=0.006)
    assert {m.key for m in machines().values() if m.clock != "not given"} == {
        *("laptop_cpu", "server_cpu", "t4", "a6000", "tpu_v2", "tpu_v3", "tpu_v4", "tpu_v5e"),
        *("tpu_v5p", "pynq_z1", "pynq_z2", "rtx_4090", "rtx_5090", "m3_max"),
    }


def test_no_rate_counts_sparsity():
    """Half the bits, twice the dense tensor-core rate; rates with sparsity would be twice that."""
    for m in (m for m in machines().values() if m.kind == "gpu"):
        for wide, narrow in (("tf32", "fp16"), ("fp16", "fp8"), ("fp8", "fp4"), ("int8", "int4")):
            if wide in m.peak and narrow in m.peak:
                ratio = float(m.peak[narrow]) / float(m.peak[wide])
                assert ratio == pytest.approx(2, rel=0.03), (m.key, wide, narrow)
        assert m.peak.get("bf16", m.peak["fp16"]) == m.peak["fp16"]
        if m.key != "m3_max":  # which has no tensor cores
            ridge = m.ridge("fp16")
            assert 100 < ridge < 450, (m.key, ridge)  # with sparsity, H100 and B200 are above 500


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


def test_runs_on_prints_the_one_line(capsys):
    runs_on()
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and out.startswith("Runs on: ") and out.endswith(".\n")
    assert this_machine().name in out


def test_runs_on_says_what_to_run_where_a_chapters_packages_are_missing(capsys, monkeypatch):
    runs_on("fpga")
    assert capsys.readouterr().out.count("\n") == 1
    real = extras.version
    monkeypatch.setattr(extras, "version", lambda name: None if name == "cocotb" else real(name))
    runs_on("fpga")
    line, sentence = capsys.readouterr().out.splitlines()
    assert line.startswith("Runs on: ") and "(cocotb>=2.0)" in sentence
    assert "`make lab CHAPTER=fpga`" in sentence and "labkit[fpga]" in sentence
    runs_on("gpu")
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize(
    ("gpus", "says"),
    [
        ((), "the SIMT machine stands in for a GPU"),
        (("NVIDIA T4",), "kernels run on the NVIDIA T4"),
    ],
)
def test_runs_on_says_what_does_the_work(capsys, monkeypatch, gpus, says):
    here = replace(this_machine(), gpus=gpus)
    monkeypatch.setattr(hardware, "this_machine", lambda: here)
    runs_on("gpu")
    assert capsys.readouterr().out.splitlines()[0].endswith(f"; {says}.")
    for chapter in ("tpu", "fpga", "distributed"):
        runs_on(chapter)
        assert f"; {hardware.STANDS_IN[chapter]}." in capsys.readouterr().out


def test_runs_on_refuses_a_chapter_that_there_is_not():
    with pytest.raises(ValueError, match="gpu, tpu, fpga, distributed, not '03_fpga'"):
        runs_on("03_fpga")


# The measurement


def test_the_measurement_is_one_of_this_machine():
    m = measure_this_machine(0.01)
    for figure in (m.peak["fp32"], m.bandwidth, m.memory):
        assert figure.word == "measured" and figure.source == this_machine().name
    assert roofline(m, 1e9).bound == "compute" and float(roofline(m, 0).attainable) == 0


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
