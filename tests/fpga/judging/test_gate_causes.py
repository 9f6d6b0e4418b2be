"""Why a module takes too much: what is said by its cells and its text."""

import pytest

from labkit.fpga.judging.demands import cost_cause
from labkit.fpga.synthesize import Synthesis
from labkit.fpga.toolchain.multipliers import Multiplier, Multipliers
from labkit.provenance import compiled

MEMORY = "logic [7:0] words [64];"
LIMITS = {"lut": 40, "bram36": 2, "dsp": 1}


def taken(cells, left=(), bram36=0):
    """A report with these cells and multipliers."""
    none = compiled(0, "LUTs", "nobody")
    blocks = compiled(bram36, "block RAMs", "nobody")
    return Synthesis("m", none, none, none, blocks, Multipliers(left, left, ()), cells)


def product(bits):
    return Multiplier("m.sv, line 3", bits, 8, by_constant=False, in_dsp=True)


@pytest.mark.parametrize(
    ("report", "text", "limits", "said"),
    [
        (taken({"RAM64M": 3}), MEMORY, LIMITS, "`words` is in no block RAM"),
        (
            taken({"RAMB36E1": 1}, bram36=1),
            MEMORY + " assign q = words[now];",
            LIMITS,
            "`words` is read without a clock edge",
        ),
        (taken({"FDRE": 512}), MEMORY, {"lut": 40}, "`words` has become flip-flops"),
        (taken({"LUT6": 90}), "count % LENGTH == 3", LIMITS, "a division, or a remainder"),
        (taken({}, (product(8), product(9))), "a * b + c * d", LIMITS, "there are 2 multipliers"),
        (taken({}, (product(32),)), "a * b", LIMITS, "a factor has 32 bits"),
    ],
)
def test_a_cause_is_named(report, text, limits, said):
    assert said in cost_cause(report, limits, text)


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (taken({"RAMB36E1": 1}, bram36=1), MEMORY),
        (taken({"LUT6": 90}), "a + b  // the mean, (a + b) / N"),
        (taken({"LUT6": 90}), "k % 4"),
    ],
)
def test_nothing_is_guessed(report, text):
    assert cost_cause(report, LIMITS, text) is None
