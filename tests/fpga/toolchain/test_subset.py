"""Each construct outside the subset is named with its line and a rewrite, and nothing else is."""

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import RTL, read_sources
from labkit.fpga.toolchain.models import compiled
from labkit.fpga.toolchain.subset import CONSTRUCTS, refuse_foreign

HEAD = "module m (input logic clk, input logic [7:0] a, output logic [7:0] y);\n"
FOREIGN = {
    "an unpacked array as a port": "module m (input logic [7:0] a [2], output logic y);",
    "an assignment pattern": "logic [7:0] t [2]; assign t = '{a, a};",
    "an interface": "bus b(); endmodule interface bus; logic d; endinterface module n;",
    "a function imported from C (DPI)": 'import "DPI-C" function int f(int x);',
    "C++ for one tool": "`ifdef VERILATOR initial $c(1);",
    "a program": 'initial $system("id");',
    "an import of a package": "import p::*;",
    "a real number": "real r;",
    "a file": 'initial $readmemh("t.hex", t);',
    "the text of another file": '`include "/etc/passwd"',
    "printing": '$display("%d", a);',
    "an end from inside": "initial $finish;",
    "a value x": "assign y = a ? 8'bx : a;",
    "a random number": "assign y = $urandom();",
    "a delay": "always_ff @(posedge clk) y <= #1 a;",
    "the falling edge of the clock": "always_ff @(negedge clk) y <= a;",
    "a class or a program": "class c; endclass",
    "a string variable": "string s;",
    "a queue or a dynamic array": "logic [7:0] q[$];",
    "`foreach`": "always_comb foreach (y[i]) y[i] = a[i];",
    "`while`": "while (i < 3) i++;",
    "a jump": "if (a[i]) break;",
    "`inside`": "assign y = a inside {1, 2} ? 1 : 0;",
    "a streaming operator": "assign y = {<<{a}};",
    "a type as a parameter": "endmodule module n #(parameter type T = logic) (input T a);",
    "a parameter with several dimensions": "localparam logic [1:0][7:0] T = 16'd5;",
    "`let`": "let f(x) = x + 1;",
    "`final`": "final y = 1;",
    "an automatic variable": "always_comb begin automatic logic [7:0] t = a; y = t; end",
}


def refusal(text: str) -> RTLError | None:
    try:
        refuse_foreign(read_sources(text, "m"))
    except RTLError as error:
        return error
    return None


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda construct: construct.name)
def test_each_is_named_with_line_and_rewrite(construct):
    code = FOREIGN[construct.name]
    text = f"// a port: input a [2]\n{code}" if code.startswith("module") else f"{HEAD}{code}"
    error = refusal(f"{text}\nendmodule\n")
    assert str(error).startswith(f"m.sv, line 2: {construct.name} is outside")
    assert construct.rewrite in str(error) and error.line == 2
    assert code.splitlines()[0].strip() in str(error)


@pytest.mark.parametrize(
    "code",
    [
        "// $display, real, #5, '{a}, while\n/* input logic [7:0] x [2], */",
        "logic [7:0] memory [0:3]; logic [3:0][7:0] packed_; sub #(.N(8), .W(2)) s (.a, .y);",
        "function automatic logic [7:0] f(input logic [7:0] x); f = x; endfunction",
        "localparam int N = 3; localparam logic [8*N-1:0] T = {8'd1, 8'd2, 8'd3};",
        'initial $error("it must divide"); for (genvar i = 0; i < 2; i++) begin : g end',
        "typedef enum logic {A, B} t; t s; always_comb case (s) A: y = 1; default: y = 0; endcase",
        "logic whiles, real_part, inside_; assign y[1:0] = {a[0], a[1]};",
    ],
)
def test_what_belongs_to_the_subset(code):
    assert refusal(f"{HEAD}{code}\nendmodule\n") is None


def test_ports_with_packed_dimensions():
    ports = (
        "input logic [3:0][7:0] a, input logic signed [W-1:0] b, input t c, output logic [1:0] y"
    )
    assert refusal(f"module m #(parameter int W = 2) ({ports});\nendmodule\n") is None


def test_our_own_modules_are_inside():
    for path in RTL.glob("*.sv"):
        refuse_foreign(read_sources(path, path.stem))


@pytest.mark.parametrize("hidden", ['/* " */ {} /* " */', '// "\n{} // "', '"//"; {}'])
def test_quotes_in_comments_hide_nothing(hidden):
    text = HEAD + hidden.format('$display("%d", a);') + "\nendmodule"
    assert "printing is outside" in str(refusal(text))


@pytest.mark.parametrize(
    "call",
    [
        "`define P(a, b) a``b\ninitial `P($sys, tem)({});",
        "`define D $c\ninitial `D\n({});",
        'wire \\a" ; initial $system({});',
        "`define F $fop``en\nint f; initial f = `F({});",
    ],
)
def test_no_macro_or_escaped_name_hides_a_program_from_verilator(call):
    """The search in the text does not see them; only Verilator, which defines VERILATOR, would."""
    hidden = f"`ifdef VERILATOR\n{call.format(chr(34) * 2)}\n`endif"
    text = f"{HEAD}assign y = a;\n{hidden}\nendmodule\n"
    assert refusal(text) is None
    with pytest.raises(RTLError, match="would reach out of the simulation"):
        compiled(read_sources(text, "m"), "verilator")
