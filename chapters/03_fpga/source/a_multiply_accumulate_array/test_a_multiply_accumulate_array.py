"""This lesson: its cycles are counted, its parts compiled, and its layer is that of the network."""

import re

import numpy as np
import pytest

from labkit.fpga import simulate, synthesize
from labkit.fpga.convnet import budget
from tests.notebooks.running import Run

WAVE, LAYER = 'busy = {"y"', "sums agree"
COSTS, HOLLOW, REFUSED = "cycles, predicted", "hollow = ", "except RTLError"
GUESSES = "figures.guesses"
SECOND_STYLE = ("(first ? 0 : y_data) + x * w", "first ? x * w : y_data + x * w")


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "2_a_multiply_accumulate_array")


def rows(said):
    """The numbers of each line that begins with one."""
    lines = [line for line in said.splitlines() if re.match(r"\s*\d", line)]
    return [[int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", line)] for line in lines]


def test_the_opening_counts_the_network_and_the_chip(lesson):
    weights = lesson.namespace["fc1"].weights
    assert weights.shape == (128, 4096) and weights.size == 524_288
    assert float(budget.available("dsp")) == 220


def test_an_adder_of_32_bits_takes_32_luts():
    adder = (
        "module adder (input logic signed [31:0] a, input logic signed [15:0] b, "
        "output logic signed [31:0] y);\n  assign y = a + b;\nendmodule\n"
    )
    report = synthesize(adder, "adder")
    assert float(report.lut) == 32 and float(report.dsp) == 0


def test_the_counter_wraps_as_the_text_says(lesson):
    run = simulate(lesson.namespace["counter"], "counter", {}, cycles=6, watch=["next"])
    assert run.trace["count"].tolist() == [0, 1, 2, 3, 0, 1]
    assert run.trace["next"].tolist() == [1, 2, 3, 0, 1, 2]


def test_the_waveform_is_the_table_of_the_text(lesson):
    _, names = lesson.again(WAVE)
    trace = names["run"].trace
    assert trace["terms_ready"].tolist() == [1, 1, 0, 1, 1]
    assert trace["y_valid"].tolist() == [0, 0, 1, 1, 1]
    assert trace["y_data"].tolist()[1:] == [8, 23, 23, 6]
    assert names["run"].outputs["y"].tolist() == [23, 6]


def test_the_examples_of_the_text():
    x, w = np.array([2, 3]), np.array([[4, 5], [-1, 2]])
    assert (w @ x).tolist() == [23, 4]
    products = np.array([8660, -8660]) * 164
    assert products.tolist() == [1_420_240, -1_420_240]
    assert (products + 2**15).tolist() == [1_453_008, -1_387_472]
    assert ((products + 2**15) >> 16).tolist() == [22, -22]


def test_the_layer_is_the_golden_models(lesson):
    said = lesson.printed[lesson.cell(LAYER)]
    assert said == "sums agree: True\noutputs agree: True\n"


def test_another_circuit_does_not_agree(lesson):
    mac = lesson.namespace["mac"].replace("x * w;", "x * w + 1;")
    said, _ = lesson.again(LAYER, mac=mac)
    assert said == "sums agree: False\noutputs agree: False\n"
    requantize = lesson.namespace["requantize"].replace("shifted > 127 ? 127", "shifted > 9 ? 9")
    said, _ = lesson.again(LAYER, requantize=requantize)
    assert said == "sums agree: True\noutputs agree: False\n"


def test_cycles_and_parts_are_those_of_the_text(lesson):
    said = lesson.printed[lesson.cell(COSTS)]
    assert rows(said) == [
        [1, 524_289, 524_289, 1, 4, 2],
        [4, 131_073, 131_073, 4, 13, 8],
        [16, 32_769, 32_769, 16, 49, 32],
    ]


def test_counted_cycles_follow_the_circuit(lesson):
    slow = lesson.namespace["mac"].replace("!y_valid || y_ready", "!y_valid")
    _, names = lesson.again(LAYER, mac=slow)
    run = names["run_array"](16)
    assert int(run.cycles) == 32_769 + 7  # a cycle after each sum but the last


def test_what_nobody_reads_is_gone_and_the_report_refused(lesson):
    said = lesson.printed[lesson.cell(HOLLOW)]
    assert said.startswith("16 multipliers written; 1 left, 1 in DSPs")
    refused = " ".join(lesson.printed[lesson.cell(REFUSED)].split())
    assert "did 16 multiply-adds per cycle" in refused and "15 are gone" in refused


def test_a_whole_array_is_not_refused(lesson):
    whole = lesson.namespace["mac_array"].replace("LANES = 4", "LANES = 16")
    whole = whole.replace("module mac_array", "module one_answer")
    said, _ = lesson.again(REFUSED, sources=[whole, lesson.namespace["mac"]])
    assert said == ""


def test_the_payoff(lesson):
    names = lesson.namespace
    said = lesson.printed[lesson.cell(GUESSES)]
    assert "with 128 lanes: 4,097 cycles (predicted by the formula)" in said
    assert float(names["alone"].lut) == 4 and float(names["hollow"].dsp) == 1
    assert float(names["widest"].dsp) == 128 and 220 - 128 == 92
    assert names["widest"].share("lut") < 0.01
    second = names["mac"].replace(*SECOND_STYLE)
    assert second != names["mac"] and float(synthesize(second, "mac").lut) == 67


def with_sums_of_25_bits(requantize):
    """fc1's requantiser, as narrow as its sums allow."""
    narrow = requantize.replace("logic signed [31:0] sum", "logic signed [24:0] sum")
    return narrow.replace("x_data[31:0]", "x_data[24:0]")


def test_a_requantiser_of_narrow_sums_takes_one_dsp(lesson):
    wide = lesson.namespace["requantize"]
    narrow = with_sums_of_25_bits(wide)
    assert narrow.count("24:0") == 2
    assert [float(synthesize(text, "requantize").dsp) for text in (wide, narrow)] == [2, 1]


@pytest.mark.parametrize(("old", "new"), [("(first ? 0", "(first ? 32'd0"), ("x * w", "x * {w}")])
def test_one_unsigned_operand_makes_all_of_it_unsigned(lesson, old, new):
    """As the text says; with terms of which none is negative, nothing shows."""
    right = lesson.namespace["mac"]
    wrong = right.replace(old, new)
    assert wrong != right
    for term, same in (([2, 4], True), ([-2, 4], False)):
        words = {"terms": np.array([term], np.int8), "terms_last": [1]}
        sums = [simulate(text, "mac", words).outputs["y"].tolist() for text in (right, wrong)]
        assert (sums[0] == sums[1]) == same


@pytest.mark.parametrize(("lanes", "cycles"), [(10, 129), (4, 385)])
def test_the_rule_holds_for_fc2(lesson, lanes, cycles):
    """128 inputs and 10 outputs, with outputs of 0 where the lanes do not divide them."""
    names = lesson.namespace
    fc2 = names["golden"].layer("fc2")
    assert fc2.weights.shape == (10, 128)
    missing = -10 % lanes
    weights = np.pad(fc2.weights, ((0, missing), (0, 0)))
    run = simulate(
        [names["mac_array"], names["mac"]],
        "mac_array",
        {
            "terms": names["term_words"](names["image"]["relu3"][0], weights, lanes),
            "terms_last": names["ends"](128, len(weights) // lanes),
        },
        parameters={"LANES": lanes},
    )
    assert int(run.cycles) == cycles
    sums = names["unpack"](run.outputs["y"], lanes, 32).ravel()[:10] + fc2.bias
    assert np.array_equal(sums, names["image"]["fc2"][0])
