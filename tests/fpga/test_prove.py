"""labkit.fpga.prove: planted bugs are found, their runs are real, and empty proofs are refused."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.prove import prove
from labkit.fpga.timing import place_and_route
from labkit.fpga.toolchain import lint, solver

DESIGNS = Path(__file__).parent / "designs"
STAGE = (DESIGNS / "stage.sv").read_text("utf-8")
TAKEN = "else if (in_ready) begin"


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def planted(before, after):
    assert before in STAGE
    return STAGE.replace(before, after)


def breaks(trace, word):
    """Whether the rule is broken between the last two cycles: valid falls, or the word changes."""
    waits = trace["out_valid"][-2] and not trace["out_ready"][-2] and not trace["rst"][-2]
    return waits and (not trace["out_valid"][-1] or trace[word][-1] != trace[word][-2])


def test_the_stage_is_proved():
    proof = prove(STAGE, "stage")
    assert proof.holds == "proved" and proof.counterexample is None
    assert "out hold until ready" in proof.explain()
    with pytest.raises(ValueError, match="no counterexample"):
        proof.draw()


def test_parameters_are_those_of_the_module():
    assert prove(DESIGNS / "multiply_add.sv", "multiply_add", {"N": 2}).holds == "proved"


BUGS = {
    "always ready": ("!out_valid || out_ready", "1", "the word is lost|nobody has taken it"),
    "data not held": (
        "out_data <= in_data;\n        end",
        "end\n    always_ff @(posedge clk) out_data <= in_data;",
        "although nobody has taken it",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found_with_a_run_that_shows_it(bug):
    before, after, said = BUGS[bug]
    proof = prove(planted(before, after), "stage")
    trace = proof.counterexample
    assert proof.holds == "fails" and re.search(said, proof.explain())
    assert breaks(trace, "out_data")
    assert trace["rst"][0] == 1 and not any(trace["rst"][1:])
    assert len({len(values) for values in trace.values()}) == 1
    for now in range(1, len(trace["rst"])):  # the inputs keep the rule that the outputs break
        before = now - 1
        if trace["in_valid"][before] and not trace["in_ready"][before] and not trace["rst"][before]:
            assert trace["in_valid"][now] and trace["in_data"][now] == trace["in_data"][before]


def test_an_assumption_on_inputs_holds_in_the_cycle_that_is_judged():
    source = """module through (
    input logic clk, input logic rst,
    input logic in_valid, output logic in_ready, input logic [7:0] in_data,
    output logic out_valid, input logic out_ready, output logic [7:0] out_data, input logic lose
);
    assign in_ready = out_ready;
    assign out_valid = in_valid && !lose;
    assign out_data = in_data;
endmodule"""
    assert prove(source, "through").holds == "fails"
    assert prove(source, "through", properties="assume (!lose);").holds == "proved"


def test_a_bug_deeper_than_the_search_is_not_called_proved():
    late = planted(
        "assign in_ready = !out_valid || out_ready;",
        "logic [7:0] waited;\n"
        "    always_ff @(posedge clk) waited <= rst || !out_valid || out_ready ? 0 : waited + 1;\n"
        "    assign in_ready = !out_valid || out_ready || waited == 30;",
    )
    assert prove(late, "stage", depth=10).holds == "holds for the first 10 cycles"
    found = prove(late, "stage", depth=40)
    assert found.holds == "fails" and breaks(found.counterexample, "out_data")


def test_own_properties_are_named_by_line_and_text():
    proof = prove(STAGE, "stage", properties="assert (1);\nassert (out_data != 200);")
    assert proof.holds == "fails"
    assert "properties.sv, line 2, `assert (out_data != 200);`, fails in cycle" in proof.explain()
    assert proof.counterexample["out_data"][-1] == 200


def test_assertions_in_the_module_are_named_too():
    source = planted("endmodule", "    always_comb never: assert (out_data != 7);\nendmodule")
    proof = prove(source, "stage")
    assert "stage.sv, line 13" in proof.explain() and proof.counterexample["out_data"][-1] == 7


LOOKS_AT_READY = (
    STAGE.replace("out_valid", "full")
    .replace("output logic full,", "output logic out_valid,")
    .replace(
        ");\n    assign",
        ");\n    logic full;\n    assign out_valid = full && out_ready;\n    assign",
    )
)
VACUOUS = {
    "valid never rises": (planted("out_valid <= in_valid", "out_valid <= 0"), "", "handed over"),
    "valid looks at ready": (LOOKS_AT_READY, "", "does out_valid look at out_ready"),
    "assumptions that contradict": (STAGE, "assume (rst);", "contradict"),
    "a consumer who is always there": (STAGE, "assume (out_ready);", "No word of out ever waits"),
    "a condition that never holds": (
        STAGE,
        "if (out_data > 255) assert (0);",
        "properties.sv, line 1, .* is never asked",
    ),
}


@pytest.mark.parametrize("case", VACUOUS)
def test_a_proof_of_nothing_says_nothing(case):
    source, properties, words = VACUOUS[case]
    proof = prove(source, "stage", properties=properties, depth=6)
    assert proof.holds == "says nothing"
    assert re.search(words, proof.explain())


@pytest.mark.parametrize(
    "line",
    ["always_comb assume (out_ready);", "`ifdef FORMAL", "always_comb restrict (out_ready);"],
)
def test_a_module_may_not_choose_what_it_is_asked(line):
    end = "\n`endif" if "`" in line else ""
    with pytest.raises(RTLError, match=r"stage.sv, line 13: .* another module") as caught:
        prove(planted("endmodule", f"{line}{end}\nendmodule"), "stage")
    assert caught.value.line == 13
    prove(planted("endmodule", "    // we assume nothing\nendmodule"), "stage", depth=3)


@pytest.mark.parametrize(
    ("properties", "words"),
    [("assert (full);", "properties.sv, line 1"), ("\nassert (out_data", "properties.sv, line")],
)
def test_a_property_that_cannot_be_read_is_told_with_its_line(properties, words):
    with pytest.raises(RTLError, match=words):
        prove(STAGE, "stage", properties=properties)


def test_nothing_to_prove_is_said():
    with pytest.raises(RTLError, match="nothing to prove of wire_"):
        prove("module wire_ (input logic a, output logic b);\nassign b = a;\nendmodule", "wire_")
    with pytest.raises(RTLError, match="depth is 1"):
        prove(STAGE, "stage", depth=1)


UNDRIVEN = """\
module stage (
  input logic clk, rst, in_valid, output logic in_ready, input logic [7:0] in_data,
  output logic out_valid, input logic out_ready, output logic [7:0] out_data
);
  logic [7:0] kept;
  assign {in_ready, out_valid, out_data} = {out_ready, in_valid, kept ^ in_data};
endmodule
"""


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (UNDRIVEN, "stage.sv, line 5: Signal is not driven: 'kept'. Assign it, or remove it."),
        (UNDRIVEN.replace("kept ^ in_data}", "in_data"), "line 6: syntax error, unexpected ';'"),
        (UNDRIVEN.replace("kept ^", "$random ^"), "line 6: a random number is outside"),
    ],
)
@pytest.mark.parametrize("tool", [prove, place_and_route])
def test_lint_speaks_before_the_tool(source, says, tool):
    with pytest.raises(RTLError) as error:
        tool(source, "stage")
    assert says in str(error.value)


def test_properties_that_do_not_parse_are_told_with_their_line():
    source = UNDRIVEN.replace("kept ^ ", "").replace("  logic [7:0] kept;\n", "")
    with pytest.raises(RTLError, match=r"properties.sv, line 2: syntax error"):
        prove(source, "stage", properties="\nassert (out_data <= ;")
    with pytest.raises(RTLError, match=r"properties.sv, line 1: .*out_dat"):
        prove(source, "stage", properties="assert (out_dat <= 127);")


def test_a_sound_module_is_linted_once(monkeypatch, tmp_path):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    calls = []
    linted = lint.lint
    monkeypatch.setattr(lint, "lint", lambda *args: calls.append(1) or linted(*args))
    for depth in (5, 6):
        prove(STAGE, "stage", depth=depth)
    assert len(calls) == 1


def test_a_solver_that_finds_no_answer_is_told_so(monkeypatch, tmp_path):
    said = SimpleNamespace(stdout="##  0:00:05  Status: timeout", stderr="")
    monkeypatch.setattr(solver, "run_tool", lambda *args: said)
    with pytest.raises(RTLError, match="no answer within"):
        solver.search(tmp_path, 5)


def test_the_picture_marks_what_is_wrong(monkeypatch):
    proof = prove(planted(*BUGS["data not held"][:2]), "stage")
    drawn = []
    fake = SimpleNamespace(draw=lambda *arguments: drawn.append(arguments))
    monkeypatch.setitem(sys.modules, "labkit.fpga.waveforms", fake)
    proof.draw()
    ((trace, names, cycles, wrong),) = drawn
    assert trace is proof.counterexample
    assert names[0] == "in_valid" and not {"clk", "rst"} & set(names)
    last = cycles[-1]
    assert last == len(trace["rst"]) - 1
    assert wrong == {("out_data", last): trace["out_data"][last - 1]}


def test_the_last_word_of_a_packet_is_held_as_well():
    with_last = planted(
        "output logic [7:0] out_data\n", "output logic [7:0] out_data, output logic out_last\n"
    ).replace("endmodule", "    always_ff @(posedge clk) out_last <= in_valid;\nendmodule")
    proof = prove(with_last, "stage")
    assert proof.holds == "fails" and "out_last is" in proof.explain()
    assert breaks(proof.counterexample, "out_last")
