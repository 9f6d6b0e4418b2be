"""A slip in a module, and what is said of it beside the tools' words."""

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.yosys import in_words, refusal

MODULE = """module m (
    input logic clk, rst, x_valid, input logic [7:0] x_data,
    output logic y_valid, output logic [7:0] y_data);
  logic [7:0] count;  // of words
  assign y_data = count + 1;
  always_ff @(posedge clk)
    if (rst) begin y_valid <= 0; count <= 0; end
    else if (x_valid) begin
      count <= count + x_data;
      y_valid <= 1;
    end else y_valid <= 0;
endmodule
"""
SLIPS = {  # what is edited, what is said, and the line that is quoted with it
    "no begin": (
        "else if (x_valid) begin",
        "else if (x_valid)",
        "only one statement belongs to",
        8,
    ),
    "no begin of all": (") begin y_valid", ") y_valid", "only one statement belongs to", 7),
    "no end": ("    end else y", "    else y", "The `begin` of line 8 is still open", 8),
    "no end at the end": (
        "    end else y_valid <= 0;\n",
        "",
        "The `begin` of line 8 is still op",
        8,
    ),
    "no semicolon": ("count + x_data;", "count + x_data", "Line 9 does not end with `;`", 9),
    "behind a header": (
        "rst) begin y_valid <= 0; count <= 0; end",
        "rst) count <= 0",
        "Line 7 d",
        7,
    ),
    "no semicolon of a wire": ("count + 1;", "count + 1", "Line 5 does not end with `;`", 5),
    "nor of a declaration": ("count;", "count", "Line 4 does not end with `;`", 4),
    "an arrow for a wire": ("y_data = ", "y_data <= ", "`assign` takes `=`", 5),
    "an arrow outside": ("assign y_data =", "y_data <=", "`<=` stands outside of `always_ff`", 5),
    "no assign": ("assign y_data", "y_data", "an assignment begins with `assign`", 5),
    "assign inside": ("  y_valid <= 1", "  assign y_valid = 1", "there is no `assign`", 10),
    "no parentheses": ("if (x_valid)", "if x_valid", "stands in parentheses", 8),
    "not in words": ("(x_valid)", "(not rst)", "`not` is written `!`", 8),
    "elif": ("else if", "elif", "`elif` is written `else if`", 8),
    "no endmodule": ("endmodule\n", "", "The `module` of line 1 has no `endmodule`", 1),
    "misspelt": ("  count <= count + x", "  cuont <= count + x", "`cuont` should be `count`", 9),
    "a word of the language": (
        "count;",
        "count; logic before;",
        "`before` is a word of SystemVerilog itself",
        4,
    ),
    "not declared": ("  logic [7:0] count;", "  ", "`count` is declared nowhere", 5),
}


def lint_message(text):
    """What lint says of a module, and what Yosys alone would."""
    with pytest.raises(RTLError) as error:
        lint(read_sources(text, "m"), {})
    return str(error.value)


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_named_with_its_line(slip):
    old, new, said, line = SLIPS[slip]
    assert MODULE.count(old) == 1
    text = MODULE.replace(old, new)
    lines = lint_message(text).splitlines()
    cause = next(number for number, one in enumerate(lines) if one.startswith("Likely cause: "))
    assert said in lines[cause]
    marked = [one[3:].split(" | ", 1) for one in lines if one.startswith("  >")]
    quoted = [words for number, words in marked if int(number) == line]
    assert quoted == [text.splitlines()[line - 1]]


def test_the_module_without_a_slip_is_sound():
    lint(read_sources(MODULE, "m"), {})


@pytest.mark.parametrize("words", [1, 2, 5])
def test_an_index_may_have_more_bits_than_a_memory_needs(words):
    memory = (
        f"logic [7:0] count, kept [{words}];\n  always_ff @(posedge clk) kept[count] <= x_data;"
    )
    text = MODULE.replace("logic [7:0] count;", memory).replace("count + 1", "kept[count]")
    lint(read_sources(text, "m"), {})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("logic [7:0] count;", "wire [7:0] count;", "`count`, which is a wire. Declare it `logic"),
        ("else y_valid <= 0;", "else y_valid = 0;", "In `always_ff` write `<=`"),
        ("  assign", "  assign y_valid = rst;\n  assign", "with `=` in one place and with `<=`"),
        ("  assign", "  for (i = 0; i < 2; i++) begin : g end\n  assign", "`for (genvar i ...`"),
        (
            "  assign",
            "  int i; for (i = 0; i < 2; i++) begin : g end\n  assign",
            "is a genvar: `for",
        ),
        ("count + 1", "{count, count}", "say so with a cast, `8'(...)`"),
    ],
)
def test_what_verilator_finds_is_said_in_our_words(old, new, said):
    assert MODULE.count(old) == 1
    assert said in lint_message(MODULE.replace(old, new))


def test_words_of_yosys_are_read_too():
    sources = read_sources(MODULE.replace("count + x_data;", "count + x_data"), "m")
    error = refusal("m.sv:10: ERROR: syntax error, unexpected TOK_ID\n", sources)
    assert str(error) == (
        "Yosys refuses m.sv, line 10: syntax error, unexpected a name\n"
        "     9 |       count <= count + x_data\n"
        "  > 10 |       y_valid <= 1;\n"
        "    11 |     end else y_valid <= 0;\n"
        "Likely cause: Line 9 does not end with `;`.\n"
        "     8 |     else if (x_valid) begin\n"
        "  >  9 |       count <= count + x_data\n"
        "    10 |       y_valid <= 1;"
    )
    assert error.line == 10
    assert in_words("unexpected OP_LE, expecting TOK_ALWAYS_FF") == (
        "unexpected `<=`, expecting `always_ff`"
    )


@pytest.mark.parametrize("line", [1, 2, 3, 9])
def test_a_tool_may_stop_at_an_empty_line_or_behind_the_last(line):
    sources = read_sources("module m;\n\nendmodule", "m")
    assert "m.sv" in str(refusal(f"m.sv:{line}: ERROR: syntax error, unexpected TOK_ID\n", sources))
    assert "n.sv" in str(refusal(f"n.sv:{line}: ERROR: syntax error, unexpected TOK_ID\n", sources))


def test_or_between_two_edges_is_no_word_of_another_language():
    text = MODULE.replace("@(posedge clk)", "@(posedge clk or negedge rst) ;")
    sources = read_sources(text, "m")
    assert "is written" not in str(refusal("m.sv:6: ERROR: syntax error\n", sources))
