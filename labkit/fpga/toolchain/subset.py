"""The SystemVerilog that both Yosys and Verilator take: what is outside, and how to write it.

`refuse_foreign(sources)` looks for each construct before a tool does, since a tool's own message
for one that it does not know ("syntax error, unexpected TOK_ID") says neither what nor why.
"""

import re
from dataclasses import dataclass

from labkit.fpga.errors import RTLError
from labkit.fpga.sources import Sources, without_comments


@dataclass(frozen=True)
class Construct:
    """Something outside the subset: its name, what it looks like, and what to write instead."""

    name: str
    pattern: str
    rewrite: str


CONSTRUCTS = (
    Construct(
        "an unpacked array as a port",
        r"\b(?:input|output)\b(?:\s|\w|\[[^]]*\])*\w\s*(?:\[[^]]*\]\s*)+[,)]",
        "make it one packed vector, `input logic [8*LANES-1:0] x`; lane i is `x[8*i +: 8]`",
    ),
    Construct("an assignment pattern", r"'\{", "assign each element, or concatenate: `{a, b}`"),
    Construct(
        "an interface",
        r"\b(?:interface|modport)\b",
        "name the signals as ports: NAME_valid, NAME_ready, NAME_data",
    ),
    Construct(
        "a function imported from C (DPI)",
        r"\bimport\s*\"",
        "hardware cannot call C: describe the logic",
    ),
    Construct(
        "C++ for one tool",
        r"\$c\d*\s*\(|`systemc_\w+",
        "hardware cannot call C++: describe the logic",
    ),
    Construct("a program", r"\$system\b", "hardware calls no programs: describe the logic"),
    Construct("an import of a package", r"\bimport\b", "name it in full: `package_name::item`"),
    Construct(
        "a real number",
        r"\b(?:real|shortreal|realtime)\b",
        "there is no such wire: use fixed point, `logic signed [W-1:0]`",
    ),
    Construct(
        "a file",
        r"\$(?:readmem[bh]|writemem[bh]|fopen|fscanf|fread|fgets)\b",
        "pass constants as a parameter, or stream the contents in",
    ),
    Construct("the text of another file", r"`include\b", "write it here: a module is one text"),
    Construct(
        "printing",
        r"\$(?:display|write|strobe|monitor)\w*\b",
        "record the signal: `simulate(..., watch=[...])`",
    ),
    Construct(
        "an end from inside",
        r"\$(?:finish|stop)\b",
        "a design does not end itself: `simulate` ends a run by words or cycles",
    ),
    Construct(
        "a value x",
        r"'[bohd]?[xX]|\d'[bohd][0-9a-fA-F_?]*[xX]",
        "give each case a value: a circuit has no unknown one",
    ),
    Construct("a random number", r"\$u?random\w*\b", "stream random words in"),
    Construct(
        "a delay",
        r"#\s*\d",
        "time is counted in clock edges: `always_ff @(posedge clk)` (delays are for testbenches)",
    ),
    Construct(
        "the falling edge of the clock",
        r"\bnegedge\s+clk\b",
        "there is one edge, `posedge clk`: add a register, or double the clock",
    ),
    Construct("a class or a program", r"\b(?:class|program)\b", "use a module"),
    Construct("a string variable", r"\bstring\b", "hardware has no text: use an enum"),
    Construct("a queue or a dynamic array", r"\w\s*\[\s*\$?\s*\]", "declare its length: `[0:15]`"),
    Construct("`foreach`", r"\bforeach\b", "`for (int i = 0; i < N; i++)`"),
    Construct("`while`", r"\bwhile\b", "a loop is unrolled: `for (int i = 0; i < N; i++)`"),
    Construct(
        "a jump",
        r"\b(?:break|continue|return)\b",
        "guard the rest with `if`; a function gives its value by its name, `f = x + 1;`",
    ),
    Construct("`inside`", r"\binside\b", "compare: `x == 1 || x == 2`"),
    Construct("a streaming operator", r"\{\s*(?:<<|>>)", "reverse in a `for` over the bits"),
    Construct(
        "a type as a parameter", r"\bparameter\s+type\b", "pass the width: `parameter int W`"
    ),
    Construct(
        "a parameter with several dimensions",
        r"\b(?:localparam|parameter)\b[^=;,)]*(?:\]\s*\[|\w\s*\[[^]]*\]\s*=)",
        "flatten it: `localparam logic [N*8-1:0] T = {...}`, and take `T[8*i +: 8]`",
    ),
    Construct("`let`", r"\blet\b", "a `localparam`, or a function"),
    Construct("`final`", r"\bfinal\b", "leave it out: hardware does not end"),
    Construct(
        "an automatic variable",
        r"(?<!function )(?<!task )\bautomatic\b",
        "declare it where the block begins, `logic [7:0] t;`, and assign it below",
    ),
)


def refuse_foreign(sources: Sources) -> None:
    """Raises RTLError for the first construct that is outside the subset, with its rewrite."""
    for name, text in sources.files:
        bare = without_comments(text)
        found = []
        for construct in CONSTRUCTS:
            if match := re.search(construct.pattern, bare):
                found.append((match.start(), construct))
        if found:
            start, construct = min(found, key=lambda place: place[0])
            number = bare.count("\n", 0, start) + 1
            sentence = (
                f"{name}, line {number}: {construct.name} is outside the SystemVerilog that all "
                f"our tools take. Instead: {construct.rewrite}."
            )
            raise RTLError(sentence + sources.quoted(name, number), number)
