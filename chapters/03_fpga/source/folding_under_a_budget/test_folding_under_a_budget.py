"""This lesson: its numbers follow from the formulas, the reports, the simulator and the answers."""

import re
from math import ceil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from labkit import convnet, figures
from labkit.fpga import synthesize
from labkit.fpga.convnet import accelerator_cycles, accelerator_report, budget
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.library import library
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.yosys import read_commands, run_yosys
from labkit.provenance import compiled
from tests.notebooks.running import Run

DSPS, JOBS, COMPARED = "29 * lanes.conv1", "def count", "def compare"
LANES, FITS, GUESSES = "for available in", "budget.bars", "figures.guesses"
BESIDE, TRIAL = "predicted_rate(count", "training_bytes.rows"
NARROW, WIDER = Folding(1, 1, 8), Folding(1, 2, 8)
RESIDENT = Folding(1, 2, 16, resident=True)
WORK = {"conv1": 884_736, "conv2": 4_718_592, "fc1": 524_288, "fc2": 1_280}


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "6_folding_under_a_budget")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def row(said, name):
    """The numbers behind a name, in the one line that begins with it."""
    (line,) = (line.strip() for line in said.splitlines() if line.strip().startswith(name))
    return numbers(line[len(name) :])


def test_the_numbers_at_the_top(lesson):
    report = accelerator_report.stored(NARROW)
    assert int(report.dsp) == 121 and 220 - 121 == 99
    assert lesson.namespace["count"](NARROW)[0] == 73_778


def test_the_table_of_the_layers():
    assert WORK["conv1"] == 1024 * 32 * 27 and WORK["conv2"] == 256 * 64 * 288
    assert WORK["fc1"] == 4096 * 128 and WORK["fc2"] == 1280
    assert WORK["conv1"] / 27 == 32_768 and WORK["conv2"] / 72 == 65_536
    assert sum(WORK.values()) == 6_128_896
    for folding in (NARROW, RESIDENT):
        exact = accelerator_cycles.layer_cycles(folding)
        for name, lanes in {"conv1": 27 * folding.conv1, "conv2": 72 * folding.conv2}.items():
            assert 0 < exact[name] / (WORK[name] / lanes) - 1 < 0.0021


def test_the_formula_of_dsps_is_what_yosys_reports(lesson):
    said = printed(lesson, DSPS).splitlines()
    shown = [numbers(line) for line in said if re.match(r"\s*\d", line)]
    assert shown == [[1, 1, 8, 121, 121], [2, 1, 8, 150, 150], [1, 2, 8, 195, 195]]


def test_the_pipeline_by_hand(lesson):
    bound = lesson.namespace["bound"]
    narrow, wide = np.array([3, 5]), np.array([3, 10])
    work = np.array([1_200, 4_000])
    assert bound(work, narrow, 400, 4_400, False, 8) == (800, False)
    assert bound(work, wide, 400, 4_400, False, 8) == (600, True)
    assert bound(work, wide, 400, 4_400, True, 8) == (400, False)
    lanes = lesson.namespace["folding"](90, np.array([400, 800]), np.array([10, 20]))
    assert lanes.tolist() == [1, 2]
    assert 2 * 10 + 2 * 20 == 60 and 2 * 10 + 4 * 20 == 100


def test_the_prediction_of_a_further_image(lesson):
    said = printed(lesson, COMPARED)
    assert row(said, "1, 1, 8") == [66_208, 66_299, 73_778]
    assert row(said, "1, 2, 8") == [66_208, 66_299, 71_589]
    assert said.count("stream") >= 2 and 66_299 / 66_208 < 1.002
    assert 4096 + 525_568 == 529_664 == 8 * 66_208
    said, _ = lesson.again(COMPARED, bound=lambda *given: (7, False))
    assert row(said, "1, 1, 8")[0] == 7 and "layer" in said


def test_what_is_counted_is_counted(lesson):
    """By a job of its own: no constant, and not the formula."""

    class Slow:
        def __init__(self, lanes):
            self.lanes = lanes

        def __enter__(self):
            return self

        def __exit__(self, *error):
            pass

        def run(self, layers, images):
            return type("Job", (), {"cycles": 1000 * len(images) ** 2})

    said, _ = lesson.again(JOBS, COMPARED, Accelerator=Slow)
    assert row(said, "1, 2, 8")[1:] == [7000, 1000]


def test_the_roofline_in_the_text():
    assert round(6_128_896 / 529_664, 2) == 11.57 and round(8 * 6_128_896 / 529_664, 1) == 92.6
    assert round(6_128_896 / 4_096) == 1496 and 8 * 1496 == 11_968
    assert ceil(8 * 6_128_896 / 529_664) == 93
    others = 8 * accelerator_cycles.stream_beats(RESIDENT) - 529_664
    assert others == 21_472 and 8 * accelerator_cycles.stream_beats(RESIDENT, 100) == 956_640
    assert round(612_889_600 / (409_600 + 525_568 + 21_472)) == 641
    assert 409_600 + 525_568 + 21_472 == 956_640


def test_the_lanes_for_a_budget(lesson):
    said = printed(lesson, LANES)
    shown = [numbers(line) for line in said.splitlines() if re.match(r"\s*\d", line)]
    assert shown == [
        [121, 1, 1, 8, 121, 65_536],
        [220, 1, 2, 16, 203, 32_768],
        [400, 2, 4, 32, 396, 16_384],
    ]
    said, _ = lesson.again(LANES, folding=lambda *given: np.array([1, 1, 1]))
    assert "524,288" in said


def test_the_resident_accelerator_fits_exactly(lesson):
    report = lesson.namespace["report"]
    assert (int(report.dsp), float(report.bram36)) == (203, 140) and report.fits
    assert row(printed(lesson, FITS), "1, 2, 16") == [32_768, 32_888, 101_825]
    assert 524_288 / 16 == 32_768 and 15 * 9 >= 128 > 14 * 9
    assert 15 * 32_768 / 4_096 == 120 and 140 - 120 - 2 * 9 == 2
    assert ceil(525_568 / 4608) == 115 and 32 * 64 * 9 == 18_432 and ceil(18_432 / 4608) == 4
    assert accelerator_cycles.stream_beats(RESIDENT) == 68_892
    assert 0 <= 101_825 - (68_892 + 32_768) < 200, "the rest is on the way"
    assert round(66_299 / 32_888, 1) == 2.0


def block_rams(top, **parameters):
    return float(synthesize(library(top), top, parameters).bram36)


@pytest.mark.night(instead="chapters/03_fpga/6_folding_under_a_budget.ipynb")
def test_where_the_block_rams_are():
    """Of fc1's weights and conv2's in this folding and in the next one, compiled alone."""
    conv2 = {"HEIGHT": 16, "WIDTH": 16, "IN_CHANNELS": 32, "OUT_CHANNELS": 64, "CHANNEL_LANES": 8}
    assert block_rams("weight_store", WIDTH=128, DEPTH=32_768) == 120
    assert block_rams("weight_store", WIDTH=256, DEPTH=16_384) == 116
    assert block_rams("conv3x3", **conv2, LANES=2) == 18
    assert block_rams("conv3x3", **conv2, LANES=4) == 0


def test_the_limits_at_the_end():
    assert round(6_128_896 / 220) == 27_859
    assert 2 * 29 + 4 * 74 + 32 + 10 == 396 > float(budget.available("dsp")) == 396 - 176
    free = int(budget.available("lut")) - int(accelerator_report.stored(RESIDENT).lut)
    assert 176 * 134 == 23_584 < free and round(free, -3) == 44_000
    assert int(budget.available("lut")) == 53_200


def test_the_luts_of_a_multiplier():
    """As the text says that LUTs could do what the missing DSPs would."""
    ports = "input signed [7:0] a, b, output signed [15:0] p"
    sources = read_sources(f"module m ({ports}); assign p = a * b; endmodule", "m")
    synthesis = "synth_xilinx -family xc7 -flatten -nodsp"
    with sources.laid_out() as folder:
        run_yosys([*read_commands(sources), synthesis, "tee -o cells.txt stat"], folder, sources)
        cells = (Path(folder) / "cells.txt").read_text()
    assert sum(int(n) for n in re.findall(r"(\d+) +LUT\d", cells)) == 134


def test_two_parts_of_ours_reach_the_assumed_clock(lesson, monkeypatch):
    """On the ECP5, each alone; the text says that this is not yet the accelerator."""
    clocks = {part: round(float(clock) / 1e6, 1) for part, clock in lesson.namespace["clocks"]}
    assert clocks == {"maxpool2x2": 129.4, "requantize": 141.5}
    monkeypatch.setattr("labkit.fpga.place_and_route", lambda *given: timed(50e6))
    said, _ = lesson.again(BESIDE)
    assert "50 MHz" in said and "129 MHz" not in said


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.extend)
    lesson.again(GUESSES)
    assert round(float(drawn[0][2]), 1) == 3.0 and drawn[0][2].word == "counted"
    assert float(drawn[1][2]) == 140 and drawn[1][2].word == "compiled"
    lesson.again(GUESSES, count=lambda lanes: (100 // lanes.conv2, 0))
    assert float(drawn[2][2]) == 50


def timed(hertz):
    """What `place_and_route` would return for a module of this clock."""
    return SimpleNamespace(fmax=compiled(hertz, "Hz", "a tool"))


def test_the_rates_follow_from_the_counts(lesson):
    said = printed(lesson, BESIDE)
    assert row(said, "ours, streamed")[0] == round(100e6 / 66_299) == 1508
    assert row(said, "ours, resident")[0] == round(100e6 / 32_888) == 3041
    assert "assumed clock of 100 MHz" in said and "1.67 W of a whole board" in said
    assert 661 in row(said, "FINN, CNV, 1 bit")
    said, _ = lesson.again(BESIDE, count=lambda lanes: (0, 50_000))
    assert row(said, "ours, streamed")[0] == 2000


def test_the_trial(lesson):
    said = printed(lesson, TRIAL)
    for share in ("0.845", "0.883", "2.57", "10.2", "39.6", "119"):
        assert share in said
    assert round(545_098 / (140 * 4608), 3) == 0.845


def test_the_rule_on_a_new_layer_and_in_the_quiz():
    assert 1024 * 1024 / 8 == 131_072
    assert (900 / 4, 500 / 2, 300 / 1) == (225, 250, 300)
    assert 529_664 / 16 < 65_536 == WORK["conv2"] / 72


def test_the_network_is_the_course_s():
    pixels = {"conv1": 32 * 32, "conv2": 16 * 16}
    for name, work in WORK.items():
        assert work == np.prod(convnet.SHAPES[f"{name}.weight"]) * pixels.get(name, 1)
