"""What makes no sense as an argument: a sentence that names it, from each function of the room."""

from pathlib import Path

import numpy as np
import pytest

from labkit import convnet
from labkit.fpga import place_and_route, prove, quantize, synthesize
from labkit.fpga.arguments import shown
from labkit.fpga.errors import RTLError
from labkit.fpga.waveforms import draw
from labkit_lessons.fpga.timing_and_proof.cocotb_run import run_cocotb

SKID = Path(__file__).parent / "modules" / "skid.sv"
TRACE = {"a": [0, 1, 1]}
PARAMETERS = "parameters is [8]: it should be a dict"
NEGATIVE = "The parameter WIDTH is -3, and the tools take no negative number from outside."
CALLS = {
    "synthesize parameters": (lambda: synthesize(SKID, "skid", [8]), PARAMETERS),
    "prove parameters": (lambda: prove(SKID, "skid", [8]), PARAMETERS),
    "place parameters": (lambda: place_and_route(SKID, "skid", [8]), PARAMETERS),
    "cocotb parameters": (lambda: run_cocotb(SKID, "skid", SKID, [8]), PARAMETERS),
    "synthesize negative": (lambda: synthesize(SKID, "skid", {"WIDTH": -3}), NEGATIVE),
    "prove negative": (lambda: prove(SKID, "skid", {"WIDTH": -3}), NEGATIVE),
    "place negative": (lambda: place_and_route(SKID, "skid", {"WIDTH": -3}), NEGATIVE),
    "source": (lambda: synthesize(None, "skid"), "this one is None"),
    "multiply-adds": (
        lambda: synthesize(SKID, "skid", multiply_adds_per_cycle="x"),
        "multiply_adds_per_cycle is 'x': it should be a number",
    ),
    "properties": (
        lambda: prove(SKID, "skid", properties=None),
        "properties is None: it should be a text",
    ),
    "depth": (lambda: prove(SKID, "skid", depth="x"), "depth is 'x': it should be a whole number"),
    "testbench": (lambda: run_cocotb(SKID, "skid", None), "testbench is None"),
    "no testbench": (lambda: run_cocotb(SKID, "skid", "no.py"), "There is no testbench no.py"),
    "trace": (lambda: draw(None), "The trace is None"),
    "signals": (lambda: draw(TRACE, "a"), "signals is 'a': it should be a list of names"),
    "cycles": (lambda: draw(TRACE, ["a"], 3), "cycles is 3: it should be a row"),
    "one cycle": (lambda: draw(TRACE, ["a"], "a"), "cycles is 'a': it should be a row"),
    "wrong": (lambda: draw(TRACE, ["a"], None, {"a": 1}), "wrong is {'a': 1}: it should be a dict"),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_makes_no_sense_is_named(call):
    call, says = CALLS[call]
    with pytest.raises(RTLError) as error:
        call()
    assert says in str(error.value)


@pytest.mark.parametrize("percentile", ["x", None, True, [1], float("nan")])
def test_a_percentile_is_a_number(percentile):
    images = np.zeros((1, 3, 32, 32), np.uint8)
    with pytest.raises(ValueError, match=r"percentile is .*: it should be a number"):
        quantize(convnet.load_weights(), images, percentile)


def test_a_value_is_shown_where_it_is_short():
    assert shown([1, 2]) == "[1, 2]"
    assert shown("x" * 50) == "of type str"
    assert shown(object()) == "of type object"
