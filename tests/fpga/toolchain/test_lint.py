"""Each mistake that lint finds: one sentence with the learner's file, line and what to do."""

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.lint import lint

HEAD = "module m (input logic clk, input logic [7:0] a, output logic [7:0] y);\n"
SUB = "\nmodule sub (input logic [7:0] a, output logic [7:0] y);\n  assign y = ~a;\nendmodule\n"
MISTAKES = {
    "does not parse": ("  assign y = a\n", 3, "syntax error"),
    "unknown name": ("  assign y = b;\n", 2, "Can't find definition of variable: 'b'"),
    "undriven port": ("", 1, "not driven: 'y'"),
    "half driven port": ("  assign y[3:0] = a[3:0];\n", 1, "not driven: 'y'[7:4]"),
    "undriven signal": ("  logic [7:0] z;\n  assign y = a & z;\n", 2, "not driven: 'z'"),
    "combinational loop": (
        "  logic [7:0] b;\n  assign b = y ^ a;\n  assign y = b & 8'h3f;\n",
        None,
        "in a loop through",
    ),
    "loop through an instance": ("  sub s (.a(y), .y(y));\n", None, "in a loop through"),
    "latch": ("  always_comb if (a[0]) y = a;\n", 2, "begin the block with a default"),
    "latch of a case": (
        "  always_comb case (a[1:0]) 0: y = 1; 1: y = 2; endcase\n",
        2,
        "begin the block with a default",
    ),
    "two assignments": ("  assign y = a;\n  assign y = ~a;\n", 1, "in one place only"),
    "two registers": (
        "  always_ff @(posedge clk) y <= a;\n  always_ff @(posedge clk) y <= ~a;\n",
        3,
        "y is driven in several places",
    ),
    "lost bits": (
        "  logic [15:0] p;\n  assign p = a * a;\n  assign y = p;\n",
        4,
        "16 bits go into 8, so the upper ones are lost",
    ),
    "a parameter that does not fit": (
        "  localparam N = 300;\n  assign y = a == 0 ? N - 1 : a - 1;\n",
        3,
        "9 bits go into 8, so the upper ones are lost",
    ),
    "a sum of variables that is cut": (
        "  localparam int N = 3;\n  assign y = a + a + N;\n",
        3,
        "32 bits go into 8, so the upper ones are lost",
    ),
    "a product that is cut": (
        "  localparam int N = 3;\n  assign y = a * a + N;\n",
        3,
        "32 bits go into 8, so the upper ones are lost",
    ),
    "a wider variable": (
        "  localparam int N = 3;\n  logic [8:0] w;\n  assign w = 9'(a);\n  assign y = w - N;\n",
        5,
        "32 bits go into 8, so the upper ones are lost",
    ),
    "blocking": ("  always_ff @(posedge clk) y = a;\n", 2, "write `<=`"),
    "not blocking": ("  always_comb y <= a;\n", 2, "write `=`"),
    "undeclared": ("  assign y = a;\n  assign w = a[0];\n", 3, "Declare it"),
    "open pin": ("  sub s (.y(y));\n", 2, "missing pin: 'a'"),
    "no such pin": ("  sub s (.a(a), .q(y));\n", 2, "Pin not found: 'q'"),
    "no such module": ("  subb s (.a(a), .y(y));\n", 2, "no module 'subb' in the sources"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake):
    body, line, said = MISTAKES[mistake]
    with pytest.raises(RTLError) as error:
        lint(read_sources(f"{HEAD}{body}endmodule\n{SUB}", "m"), {})
    sentence = str(error.value)
    assert said in sentence and "m.sv, line " in sentence
    assert error.value.line == line or line is None
    assert f"\n  > {error.value.line} | " in sentence
    assert "DESIGN" not in sentence and "verilator.org" not in sentence


@pytest.mark.parametrize(
    "body",
    [
        "  logic [2:0] c;\n  always_ff @(posedge clk) c <= c + 1;\n  assign y = 8'(c);\n",
        # a chain through the bits of one vector is no loop
        "  logic [8:0] c;\n  assign c[0] = a[0];\n"
        "  for (genvar i = 0; i < 8; i++) begin : g\n    assign c[i+1] = c[i] ^ a[i];\n  end\n"
        "  assign y = c[8:1];\n",
        "  sub s (.a, .y);\n",
        # a number that fits loses nothing, though a parameter has 32 bits
        "  localparam int N = 256;\n  assign y = a == 0 ? N - 1 : a - 1;\n",
        "  localparam int N = 200;\n  always_ff @(posedge clk) y <= (a + 1) % N;\n",
        "  localparam int N = 200;\n  always_comb if (a == 0) y = N - 1 - a; else y = a + N;\n",
    ],
)
def test_sound_modules(body):
    lint(read_sources(f"{HEAD}{body}endmodule\n{SUB}", "m"), {})


def test_a_constant_fits_where_it_fits_in_each_size_of_its_module():
    counter = """
module counter #(parameter LENGTH = 8) (input logic clk, rst, output logic [7:0] c);
  always_ff @(posedge clk) if (rst) c <= LENGTH - 1; else c <= c - 1;
endmodule
"""
    both = """
module both (input logic clk, rst, output logic [7:0] c, d);
  counter #(2) one (.*);
  counter #(LONGER) two (.c(d), .*);
endmodule
"""
    lint(read_sources(counter, "counter"), {"LENGTH": 256})  # of 32 bits
    lint(read_sources([counter, both.replace("LONGER", "256")], "both"), {})
    with pytest.raises(RTLError, match=r"counter.sv, line 3: .*the upper ones are lost"):
        lint(read_sources([counter, both.replace("LONGER", "257")], "both"), {})


def test_the_line_is_of_the_file_that_it_is_in():
    good = f"{HEAD}  sub s (.a, .y);\nendmodule\n"
    bad = "\n\n" + SUB.replace("~a", "~b")
    with pytest.raises(RTLError, match=r"sub.sv, line 5: Can't find definition of variable: 'b'"):
        lint(read_sources([good, bad], "m"), {})


def test_an_unknown_parameter():
    with pytest.raises(RTLError, match="N"):
        lint(read_sources(f"{HEAD}  assign y = a;\nendmodule\n", "m"), {"N": 3})
