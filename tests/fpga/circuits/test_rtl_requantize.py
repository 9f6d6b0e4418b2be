"""requantize.sv: the formula at its edges, and labkit's golden model."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.integers import requantize as golden
from labkit.fpga.integers.packing import unpack
from labkit.fpga.integers.words import parameter_words
from tests.fpga.circuits.cycles import requantize_cycles
from tests.fpga.circuits.rtl_cases import both, requantized, run, stalled

CHANNELS, LANES = 6, 2


def through(acc, bias, multiplier, shift, relu, run=run, **options):
    """acc[N,K] -> int8[N,K] by the RTL, and the simulation."""
    inputs = {
        "shift": shift,
        "p": parameter_words(bias, multiplier),
        "x": acc.astype(np.int32).reshape(-1, LANES),
    }
    sizes = {"CHANNELS": CHANNELS, "LANES": LANES, "RELU": int(relu)}
    simulation = run("requantize", inputs, acc.size // LANES, parameters=sizes, **options)
    return unpack(simulation.outputs["y"], LANES, 8).reshape(acc.shape), simulation


@pytest.mark.parametrize("stalls", [None, stalled("p x y")], ids=["free", "stalled"])
def test_as_the_formula_in_both_engines(stalls):
    """Without ReLU; with it, as a part of a layer in test_rtl_conv.py."""
    rng = np.random.default_rng(3)
    acc = rng.integers(-(2**22), 2**22, (30, CHANNELS))
    bias = rng.integers(-(2**20), 2**20, CHANNELS)
    multiplier = rng.integers(0, 2**16, CHANNELS)
    y, simulation = through(acc, bias, multiplier, 29, relu=False, run=both, stalls=stalls)
    assert np.array_equal(y, requantized(acc, bias, multiplier, 29, low=-128))
    assert len(np.unique(y)) > 30  # neither all clamped nor all zero
    if stalls is None:
        assert simulation.cycles.value == requantize_cycles(CHANNELS, acc.size // LANES)


@pytest.mark.parametrize("shift", [1, 2, 16, 30, 31])
def test_the_ends_of_every_range_as_in_the_golden_model(shift):
    """Sums at both ends of int32, multipliers at both ends of 16 bits, halves of either sign."""
    multiplier = np.array([0, 1, 2, 3, 2**15, 2**16 - 1], np.int32)
    half = 1 << (shift - 1)
    sums = [0, 1, -1, 2, -2, 3, -3, half, -half, half - 1, -half - 1, 3 * half, -3 * half]
    sums += [2**31 - 1, -(2**31)]
    sums = [total for total in sums if -(2**31) <= total < 2**31]
    acc = np.repeat(np.array(sums, np.int64)[:, None], CHANNELS, axis=1).astype(np.int32)
    y, _ = through(acc, np.zeros(CHANNELS, int), multiplier, shift, relu=False)
    assert np.array_equal(y, golden.requantize(acc, multiplier, shift))


def test_no_sum_is_taken_before_the_parameters_are_there():
    inputs = {"shift": 8, "p": [], "x": np.ones((3, LANES), np.int32)}
    sizes = {"CHANNELS": CHANNELS, "LANES": LANES}
    waiting = run("requantize", inputs, None, cycles=50, parameters=sizes)
    assert not waiting.trace["x_ready"].any()


def test_lanes_that_do_not_divide_are_refused():
    inputs = {"shift": 8, "p": [], "x": []}
    with pytest.raises(RTLError, match="LANES must divide CHANNELS"):
        run("requantize", inputs, 1, parameters={"CHANNELS": 6, "LANES": 4})
