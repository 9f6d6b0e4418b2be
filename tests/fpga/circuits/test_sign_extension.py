"""Signed numbers of every width through Verilator, whose sign extension is driver's own."""

import numpy as np
import pytest

from labkit.fpga.simulate import simulate

WIDTHS = (2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32)

# For each width W the product of two numbers, their sum, and half of the first: each as 64 bits.
HEAD = """
module signed_numbers (
  input  logic clk, input logic rst,
  input  logic x_valid, output logic x_ready, input  logic [63:0] x_data,
  output logic y_valid, input  logic y_ready, output logic [{top}:0] y_data
);
  assign x_ready = y_ready;
  assign y_valid = x_valid;
"""
PART = """
  logic signed [{w}-1:0] a{w}, b{w};
  logic signed [2*{w}-1:0] product{w};
  logic signed [{w}:0] sum{w};
  assign a{w} = x_data[{w}-1:0];
  assign b{w} = x_data[32+{w}-1:32];
  assign product{w} = a{w} * b{w};
  assign sum{w} = a{w} + b{w};
  assign y_data[{low}+:64] = 64'(product{w});
  assign y_data[{low}+64+:64] = 64'(sum{w});
  assign y_data[{low}+128+:64] = 64'(a{w} >>> 1);
"""


def signed(value: int, bits: int) -> int:
    """The low bits as a signed number."""
    value %= 1 << bits
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("engine", ["verilator", "cxxrtl"])
def test_signed_numbers_of_every_width(engine):
    """Products, sums and shifts are those of Python's integers, extremes included."""
    parts = [PART.format(w=bits, low=192 * place) for place, bits in enumerate(WIDTHS)]
    text = "\n".join([HEAD.format(top=192 * len(WIDTHS) - 1), *parts, "endmodule\n"])
    extremes = [0, 1, (1 << 32) - 1]
    extremes += [1 << (w - 1) for w in WIDTHS] + [(1 << (w - 1)) - 1 for w in WIDTHS]
    pairs = [(a, b) for a in extremes for b in extremes]
    rng = np.random.default_rng(0)
    pairs += [tuple(map(int, row)) for row in rng.integers(0, 1 << 32, (200, 2))]
    words = [a | b << 32 for a, b in pairs]
    outputs = simulate(text, "signed_numbers", {"x": words}, engine=engine).outputs["y"]
    for (a, b), word in zip(pairs, outputs, strict=True):
        word = int(word)
        for place, bits in enumerate(WIDTHS):
            x, y = signed(a, bits), signed(b, bits)
            expected = [x * y, x + y, x >> 1]
            got = [signed(word >> (192 * place + 64 * k), 64) for k in range(3)]
            assert got == expected, (bits, x, y)
