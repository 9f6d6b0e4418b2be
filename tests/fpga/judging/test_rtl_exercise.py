"""Exercises whose answer is SystemVerilog: what `check` says of right and wrong modules."""

import numpy as np
import pytest

from labkit.checks import judge
from labkit.checks.items import Case, CostLimitExceeded, Exercise, Misconception
from labkit.checks.registry import registry
from labkit.fpga.errors import OutOfTime
from labkit.fpga.judging import demands as demanded
from labkit.fpga.judging.demands import Demands
from labkit.fpga.judging.rtl_exercise import Drive, reader
from labkit.fpga.judging.rtl_judge import RTLJudge, described
from labkit.fpga.ports import Port
from labkit.fpga.toolchain import tools, yosys

SOLUTION = """
module doubler (
    input  logic clk,
    input  logic rst,
    input  logic x_valid,
    output logic x_ready,
    input  logic signed [7:0] x_data,
    output logic y_valid,
    input  logic y_ready,
    output logic signed [15:0] y_data
);
  // One register stage: it takes a word whenever it is empty or is being emptied.
  assign x_ready = !y_valid || y_ready;
  always_ff @(posedge clk)
    if (rst) y_valid <= 0;
    else if (x_ready) begin
      y_valid <= x_valid;
      y_data <= 2 * 16'(x_data);
    end
endmodule
"""
ID = "fpga.doubler"


def cases(rng):
    for name, n in {"one word": 1, "two": 2, "prime": 7, "many": 40}.items():
        yield Case(name, (rng.permutation(np.arange(-100, 100))[:n].astype(np.int8),))


def oracle(x):
    return 2 * x.astype(int)


def make(given=None, keeps=0, support=(), **limits):
    def drive(x):
        return Drive({"x": x}, words={"y": len(x)})

    demands = Demands("doubler", SOLUTION, support, **limits)
    found = RTLJudge(
        "doubler", SOLUTION, support, drive, reader(["y"]), demands, given, keeps=keeps
    )
    wrong = Misconception("The word is squared, not doubled.", lambda x: x.astype(int) ** 2)
    return Exercise(
        ID,
        oracle,
        cases,
        ("Look at the product.", "Twice x."),
        (wrong,),
        cost=found.costs,
        outputs=("y",),
        dtype="any",
        rtol=0.0,
        atol=0.0,
        adapter=found.adapter,
        plain=found.plain,
        fallback=SOLUTION,
        locate=found.locate,
    )


@pytest.fixture
def feedback(monkeypatch, capsys):
    """What `check` says of an answer to an exercise."""
    monkeypatch.setenv("LABKIT_PROGRESS", "off")

    def ask(answer, **limits):
        monkeypatch.setitem(registry().items, ID, make(**limits))
        returned = judge.check(ID, answer)
        return returned, " ".join(capsys.readouterr().out.split())

    return ask


def edited(old, new):
    assert SOLUTION.count(old) == 1
    return SOLUTION.replace(old, new)


def test_a_right_module_is_returned_with_its_costs(feedback):
    answer = "// mine\n" + SOLUTION
    returned, words = feedback(answer, cycles=lambda x: len(x) + 1, gates={"ff": 9, "dsp": 0})
    assert returned is answer
    assert "is solved" in words and "cycles of the longest case" in words and "flip-flops" in words


def test_a_wrong_word_is_shown_in_its_cycle_with_a_likely_cause(feedback):
    returned, words = feedback(edited("2 * 16'(x_data)", "16'(x_data) * 16'(x_data)"))
    assert returned == SOLUTION
    assert "it should be" in words and "It shows in clock cycle 1" in words
    assert "y_data" in words and "The word is squared" in words


def test_a_module_that_forgets_to_wait_is_told_so(feedback):
    _, words = feedback(edited("!y_valid || y_ready", "1"))  # so words are lost
    assert (
        "not when a neighbour waits. `y[6]` never comes; it should be 116. So far 6 of 7" in words
    )
    assert "In cycle 18 `y_valid` goes from 1 to 0, although `y_ready` was 0 in cycle 17" in words
    assert "cycle 15 16 17 18 19 20" in words
    follows = "  assign y_data = 2 * 16'(kept);\n  always_ff @(posedge clk) kept <= x_data;\n"
    moved = edited("      y_data <= 2 * 16'(x_data);\n", "").replace(
        "  always_ff", "  logic signed [7:0] kept;\n" + follows + "  always_ff"
    )
    _, words = feedback(moved)  # the word on offer changes before it is taken
    assert "not when a neighbour waits. `y[11]` is 8; it should be -200." in words
    assert "In cycle 31 `y_data` goes from -200 to 8, although `y_ready` was 0 in cycle 30" in words


def test_too_many_cycles_and_too_many_gates_are_refused(feedback):
    slow = edited("!y_valid || y_ready", "!y_valid").replace(
        "else if (x_ready) begin", "else if (y_valid) y_valid <= !y_ready;\n    else begin"
    )
    _, words = feedback(slow, cycles=lambda x: len(x) + 1)
    assert "clock cycles, and" in words and "are enough" in words
    _, words = feedback("// large\n" + SOLUTION, gates={"ff": 3})
    assert "takes 9 flip-flops, and 3 are enough" in words and "Case:" not in words


def test_a_module_that_loses_words_is_shown_the_shortest_run(feedback):
    _, words = feedback(edited("!y_valid || y_ready", "1"), proves="")
    assert "not when a neighbour waits" in words
    assert "The shortest run that shows it: In cycle 2 y offers the word" in words


def test_what_no_simulation_shows_is_found_by_the_solver(feedback):
    limit = "  assign x_ready = !y_valid || y_ready || waited == 15;\n  logic [3:0] waited;"
    count = "always_ff @(posedge clk) waited <= rst || !y_valid || y_ready ? 0 : waited + 1;"
    late = edited("  assign x_ready = !y_valid || y_ready;", f"{limit}\n  {count}")
    assert "is solved" in feedback(late)[1]
    _, words = feedback(late, proves="")
    assert "the solver is not content" in words and "In cycle 17 y offers the word" in words


def test_a_right_module_is_right_with_a_proof_and_a_clock(feedback):
    _, words = feedback(
        "// mine too\n" + SOLUTION, proves="assert (y_data[0] == 0 || !y_valid);", clock=1
    )
    assert "is solved" in words and "highest clock on the ECP5" in words and "MHz" in words


def test_a_rule_that_an_input_breaks_is_named(feedback):
    _, words = feedback("// and mine\n" + SOLUTION, proves="assert (!y_valid || y_data != 6);")
    assert "assert (!y_valid || y_data != 6);" in words and "solved" not in words


def test_a_long_path_is_refused_by_its_clock(feedback):
    square = "  logic signed [15:0] square;\n  assign square = x_data * x_data;\n  assign x_ready"
    long = edited("  assign x_ready", square)
    long = long.replace("2 * 16'(x_data)", "square >= 0 ? 2 * 16'(x_data) : square")
    _, words = feedback(long, clock=0.8)
    assert "the highest clock is" in words and "Which path between two registers" in words


def test_the_given_module_is_not_yet_an_answer(feedback):
    given = edited("2 * 16'(x_data)", "3 * 16'(x_data)")
    returned, words = feedback("\n" + given, given=given)
    assert returned == SOLUTION and "is not solved yet" in words


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (3, "text of a module"),
        ("module doubler(", "line 1"),
        (SOLUTION.replace("y_ready", "y_go"), "no port `y_ready`"),
        (SOLUTION.replace("signed [15:0] y_data", "[15:0] y_data"), "16 bits, signed"),
        (SOLUTION.replace("module doubler", "module other"), "no module 'doubler'"),
        (SOLUTION.replace("logic rst,", "logic rst, go,"), "an input `go` that the exercise does"),
        (
            SOLUTION.replace("input  logic x_valid,", "input  logic signed x_valid,"),
            "should be an input of 1 bit, and it is an input of 1 bit, signed. Declare it without "
            "`signed`. Where its value has a sign, give it one inside: `logic signed [0:0] number;",
        ),
        (SOLUTION.replace("signed [7:0] x", "[7:0] x"), "of 8 bits. Declare it `logic signed`."),
        (SOLUTION.replace("16'(x_data)", "16'($random)"), "a random number is outside"),
        (SOLUTION.replace("  // One", '  import "DPI-C" function int f();//'), "imported from C"),
    ],
)
def test_what_cannot_be_run_is_told_why(feedback, answer, words):
    returned, told = feedback(answer)
    assert returned == SOLUTION
    assert words in told


def test_a_module_that_never_hands_over_a_word_is_stopped(feedback):
    _, words = feedback(edited("y_valid <= x_valid;", "y_valid <= 0;"))
    assert "`y[0]` never comes; it should be -156. So far 0 of 1 words of `y` have come." in words
    assert (
        "No word moves after clock cycle 0: all words of `x` are taken; `y_valid` stays 0" in words
    )
    assert "Ours hands this word over in cycle 1." in words


def test_ports_in_words():
    assert described(Port("x", True, 8, True)) == "an input of 8 bits, signed"
    assert described(Port("y", False, 1, False)) == "an output of 1 bit"


def test_a_module_that_withdraws_its_word_is_refused(feedback):
    shy = SOLUTION.replace("output logic y_valid,", "output logic y_valid,").replace(
        "  // One register stage",
        "  logic full, blink;\n  assign y_valid = full && !blink;\n"
        "  always_ff @(posedge clk) blink <= rst ? 0 : !blink;\n  // One register stage",
    )
    shy = shy.replace(
        "assign x_ready = !y_valid || y_ready;", "assign x_ready = !full || (y_valid && y_ready);"
    )
    shy = shy.replace("if (rst) y_valid <= 0;", "if (rst) full <= 0;").replace(
        "y_valid <= x_valid;", "full <= x_valid;"
    )
    _, words = feedback(shy)
    assert "must stay on offer until it is taken" in words


def test_gates_are_counted_with_the_parameters_that_the_exercise_names():
    judge = Demands("doubler", SOLUTION, gates={"ff": 3}, gate_parameters={})
    with pytest.raises(CostLimitExceeded, match="takes 9 flip-flops, and 3 are enough"):
        judge.demand_few_gates(SOLUTION)


# --- a second reset


def unreset():
    return edited("if (rst) y_valid <= 0;\n    else if", "if")


def test_a_module_that_ignores_its_reset_is_refused(feedback):
    returned, words = feedback(unreset())
    assert returned == SOLUTION
    assert "The words are right after the first reset, but not after a second one" in words
    assert "Here it comes after 1 cycle: `y[1]` is -82; it should be 108." in words
    assert "In cycle 0 after it `y_valid` is 1; after the first reset it was 0." in words
    assert "while `rst` is 1, each register that says what is going on" in words


def test_a_second_reset_is_told_only_when_no_later_case_is_wrong(feedback):
    """The first case has one word, and words of both signs come later."""
    answer = unreset().replace("2 * 16'(x_data)", "x_data < 0 ? 16'd7 : 2 * 16'(x_data)")
    _, words = feedback(answer)
    assert "it should be" in words and "second one" not in words


def test_what_a_check_handed_on_is_not_the_learners(feedback):
    """Nor with blanks around it; an equal text stands in a cell."""
    handed_on, _ = feedback(edited("2 * 16'(x_data)", "16'(x_data)"))
    for text in (handed_on + " ", "\n" + handed_on):
        returned, words = feedback(text)
        assert returned == SOLUTION and returned is not text
        assert "the course's own version, which an earlier check handed on" in words
    typed = "".join(list(SOLUTION))
    assert feedback(typed)[0] is typed


def test_a_module_that_a_second_reset_stops_for_ever_is_refused(feedback):
    once = edited("  // One", "  logic [1:0] seen;\n  // One").replace(
        "if (rst) y_valid <= 0;",
        "if (rst) begin y_valid <= 0; if (seen != 3) seen <= seen + 1; end",
    )
    _, words = feedback(once.replace("!y_valid || y_ready", "(!y_valid || y_ready) && seen != 3"))
    assert "not after a second one" in words and "`y[0]` never comes; it should be -156" in words
    assert "In cycle 0 after it `x_ready` is 0; after the first reset it was 1." in words


def test_data_need_no_reset(feedback):
    answer = edited("logic signed [15:0] y_data\n", "logic signed [15:0] y_data  // kept\n")
    assert feedback(answer)[0] is answer
    asynchronous = edited("always_ff @(posedge clk)", "always_ff @(posedge clk or posedge rst)")
    returned, words = feedback(asynchronous)
    assert returned is asynchronous, words


# --- room for words


def test_a_module_with_too_little_room_is_refused(feedback):
    answer = "// small\n" + SOLUTION
    assert feedback(answer, keeps=1)[0] is answer
    _, words = feedback(answer, keeps=2)
    assert "while the next module is busy, only 1 word found room" in words
    assert "several should: at least 2" in words
    assert "Case: two" in words  # a run of one word needs no more


# --- what the answer brings itself

HELPER = "module helper (input logic [7:0] a, output logic [7:0] b);\n  assign b = {};\nendmodule\n"


def test_a_support_module_that_the_answer_brings_is_the_learners(feedback):
    calls = edited("  // One", "  logic [7:0] same;\n  helper h (.a(x_data), .b(same));\n  // One")
    calls = calls.replace("16'(x_data)", "16'($signed(same))")
    support = [HELPER.format("~a")]
    _, words = feedback(calls, support=support)
    assert "it should be" in words  # with the course's helper
    before, behind = HELPER.format("a") + calls, calls + HELPER.format("a")
    assert feedback(before, support=support)[0] is before
    returned, words = feedback(behind, support=support, proves="", gates={"ff": 20}, clock=0.1)
    assert returned is behind, words


def test_an_index_out_of_bounds_is_told_in_its_case_and_harms_nobody(feedback):
    table = "  logic [15:0] twice [0:199];  // -56 to -1 have no place in it\n"
    fill = "  initial for (int i = 0; i < 200; i++) twice[i] = 2 * 16'(signed'(8'(i)));\n"
    beyond = edited("  // One", f"{table}{fill}  // One")
    beyond = beyond.replace("2 * 16'(x_data);", "twice[unsigned'(x_data)];")
    returned, words = feedback(beyond)
    assert returned == SOLUTION
    assert words.startswith("Look again: The simulator of doubler ended on an assertion:"), words
    assert "out of bounds" in words and "beyond the end of a memory" in words
    answer = "// mine\n" + SOLUTION
    assert feedback(answer)[0] is answer


# --- tools that cannot judge


def test_without_a_compiler_nothing_is_judged(feedback, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    returned, words = feedback(unreset())
    assert returned == SOLUTION
    assert words.startswith("Not judged: Your module was not run. A simulation needs a C++")
    assert "apt install g++" in words and "golden model in NumPy answers" in words
    assert "nothing is said of your answer" in words and "Look again" not in words


def test_a_tool_that_hangs_is_no_verdict(feedback, monkeypatch):
    monkeypatch.setattr(tools, "PATIENCE", 0.5)
    asked = []
    monkeypatch.setattr(yosys, "run_tool", lambda *args: asked.append(1) or tools.run_tool(*args))
    turns = "for (int i = 0; i < 100_000_000; i++) total = total ^ 16'(i);"
    long = edited(
        "  // One",
        f"  logic [15:0] total;\n  always_comb begin\n    total = 0;\n    {turns}\n  end\n  // One",
    )
    returned, words = feedback(long)
    assert returned == SOLUTION
    assert words.startswith("Not judged: Yosys did not finish within 0.5 s with the module doubler")
    assert "a loop of very many turns" in words and "nothing is said of your answer" in words
    assert len(asked) == 1  # not once for each case


@pytest.mark.parametrize("tool", ["prove", "synthesize", "place_and_route"])
def test_a_tool_that_hangs_after_the_simulation_is_no_verdict_either(feedback, monkeypatch, tool):
    asked = []

    def hang(*args, **options):
        asked.append(tool)
        raise OutOfTime("The tool did not finish within 600 s.")

    monkeypatch.setattr(demanded, tool, hang)
    returned, words = feedback("// mine\n" + SOLUTION, proves="", gates={"ff": 90}, clock=0.1)
    assert returned == SOLUTION
    assert words.startswith("Not judged: The words are right, but the rest was not judged. The")
    assert len(asked) == 1  # not once for each case


def test_a_hanging_solver_does_not_hide_what_a_simulation_shows(feedback, monkeypatch):
    def hang(*args, **options):
        raise OutOfTime("The solver did not finish within 600 s.")

    monkeypatch.setattr(demanded, "prove", hang)
    _, words = feedback(edited("!y_valid || y_ready", "1"), proves="")
    assert "Look again" in words and "not when a neighbour waits" in words
