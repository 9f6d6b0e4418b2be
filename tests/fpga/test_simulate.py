"""`simulate`: the right words in the right cycles under any stalls, and a sentence otherwise."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import pack
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.simulate import simulate
from labkit.fpga.toolchain import models

MODULES = Path(__file__).parent / "modules"
ENGINES = pytest.mark.parametrize("engine", models.ENGINES)
PATTERN = st.lists(st.integers(0, 1), max_size=7).filter(lambda row: not row or not all(row))

# Adds 1 and waits for nobody: it withdraws a word that is not taken at once.
RUDE = """\
module rude (
  input logic clk, rst,
  input logic x_valid, output logic x_ready, input logic [7:0] x_data,
  output logic y_valid, input logic y_ready, output logic [7:0] y_data
);
  assign x_ready = 1;
  always_ff @(posedge clk) begin
    y_valid <= x_valid && !rst;
    y_data <= x_data + 1;
  end
  logic unused;
  assign unused = y_ready;
endmodule
"""


def run(top, inputs, engine="cxxrtl", **options):
    return simulate(MODULES / f"{top}.sv", top, inputs, engine, **options)


def sums(values, lasts):
    """Oracle of the accumulator: the sum of each packet."""
    ends = np.flatnonzero(lasts) + 1
    return [int(sum(part)) for part in np.split(np.array(values, int), ends)[: len(ends)]]


# --- the right words, in the right cycles ---


@ENGINES
def test_a_counter_counts_in_each_cycle(engine):
    go = [1, 1, 0, 1, 1, 1, 0, 1]
    done = run("counter", {"go": go}, engine, parameters={"MODULUS": 4})
    count = 0
    for cycle, step in enumerate(go):
        assert done.outputs["count"][cycle] == done.trace["count"][cycle] == count
        assert done.outputs["wraps"][cycle] == (step and count == 3)
        count = (count + step) % 4
    assert int(done.cycles) == len(go) and done.cycles.word == "counted"


def test_a_run_of_given_length_holds_the_last_value():
    done = run("counter", {"go": 1}, cycles=25)
    assert done.outputs["count"].tolist() == [cycle % 10 for cycle in range(25)]


def test_the_caller_may_drive_the_reset():
    reset = [1, 0, 0, 0, 1, 0]
    done = run("counter", {"go": 1, "rst": reset}, cycles=8)
    assert done.outputs["count"].tolist() == [0, 0, 1, 2, 3, 0, 1, 2]


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(-128, 127), st.integers(0, 1)), max_size=20), PATTERN, PATTERN
)
def test_the_accumulator_under_any_stalls(words, stall_x, stall_y):
    values, lasts = [v for v, _ in words], [last for _, last in words]
    inputs = {"x": values, "x_last": lasts}
    done = run("accumulator", inputs, stalls={"x": stall_x, "y": stall_y})
    assert done.outputs["y"].tolist() == sums(values, lasts)
    assert not done.violations


@pytest.mark.parametrize("top", ["skid", "fifo"])
@settings(max_examples=30)
@given(st.lists(st.integers(0, 127), max_size=30), PATTERN, PATTERN)
def test_buffers_keep_words_and_order_under_any_stalls(top, words, stall_x, stall_y):
    done = run(top, {"x": words}, stalls={"x": stall_x, "y": stall_y})
    assert done.outputs["y"].tolist() == words and not done.violations
    if words and top == "fifo":
        assert done.lasts["y"].tolist() == [0] * (len(words) - 1) + [1]


@ENGINES
def test_the_cycle_of_each_word(engine):
    """One register: a word goes in and comes out a cycle later; y waits in two of three."""
    free = run("skid", {"x": [5, 6, 7]}, engine)
    assert free.times["y"].tolist() == [1, 2, 3] and int(free.cycles) == 4
    late = run("skid", {"x": [5, 6, 7]}, engine, stalls={"y": [0, 1, 1]})
    assert late.times["y"].tolist() == [3, 6, 9] and int(late.cycles) == 10
    held = late.trace["y_valid"] & (1 - late.trace["y_ready"])
    assert held.tolist() == [0, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert late.trace["x_ready"].tolist() == [1, 1, 0, 0, 1, 0, 0, 1, 1, 1]


@given(st.integers(-128, 127), st.integers(-128, 127), st.integers(0, 15))
def test_signed_arithmetic_without_a_clock(a, b, s):
    out = {
        name: int(row[0])
        for name, row in run("arithmetic", {"a": a, "b": b, "s": s}).outputs.items()
    }
    assert out["product"] == a * b and out["sum"] == a + b
    assert out["shifted"] == a * b >> s and out["halved"] == int(a / 2)
    assert out["larger"] == max(a, b) and out["relu"] == max(a, 0) and out["less"] == (a < b)


@ENGINES
@pytest.mark.parametrize("seed", range(3))
def test_wide_buses(engine, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(-128, 128, (20, 65)).astype(np.int8)
    b = [int(v) << 32 for v in rng.integers(-(1 << 32), 1 << 32, 20)]
    c = rng.integers(0, 1 << 64, 20, dtype=np.uint64)
    done = run("wide", {"a": rows, "b": b, "c": c}, engine)
    assert done.outputs["reversed"].tolist() == pack(rows[:, ::-1], 8).tolist()
    assert done.outputs["negated"].tolist()[1:] == [-v for v in b[:-1]]
    rotated = [(int(v) >> 1) | (int(v) & 1) << 63 for v in c]
    assert done.outputs["rotated"].tolist()[1:] == rotated[:-1]
    ones = [bin(word).count("1") % 2 for word in pack(rows, 8).tolist()]
    assert done.outputs["parity"].tolist() == ones


def test_signals_inside_are_watched():
    done = run("packer", {"x": [1, 2, 3, 4]}, watch=["low", "stage0 x_valid", "state"])
    assert done.trace["low"].tolist()[1:3] == [1, 1]
    assert done.trace["stage0 x_valid"].tolist()[:4] == [0, 1, 0, 1]
    assert done.outputs["y"].tolist() == [0x0201, 0x0403]


# --- ends of a run ---


def test_words_end_a_run():
    done = run("skid", {"x": range(10)}, words={"y": 4})
    assert done.outputs["y"].tolist() == [0, 1, 2, 3] and int(done.cycles) == 5
    assert len(run("skid", {"x": range(10)}, words=0).outputs["y"]) == 0


@ENGINES
def test_a_run_without_an_end_says_what_it_waits_for(engine):
    with pytest.raises(RTLError) as error:
        run("skid", {"x": [1, 2, 3]}, engine, words=10, limit=500)
    assert str(error.value) == (
        "skid does not end: after 500 cycles y has delivered 3 of 10 words; "
        "all 3 words of x are taken."
    )


def test_a_stuck_input_is_named():
    source = RUDE.replace("x_ready = 1", "x_ready = x_data < 5").replace(
        "<= x_v", "<= x_ready && x_v"
    )
    with pytest.raises(RTLError) as error:
        simulate(source, "rude", {"x": range(10)}, words=10, limit=400)
    assert "y has delivered 5 of 10 words" in str(error.value)
    assert "x waits with word 5 of 10: x_valid is 1 and x_ready stays 0" in str(error.value)


def test_an_output_that_never_says_last():
    source = (
        (MODULES / "fifo.sv")
        .read_text()
        .replace("{y_last, y_data} =", "y_last = 0;\n assign y_data = 12'(")
    )
    source = source.replace("memory[first[BITS-1:0]];", "memory[first[BITS-1:0]]);")
    with pytest.raises(RTLError, match="delivered 2 words, the latest without y_last"):
        simulate(source, "fifo", {"x": [1, 2]}, limit=3000)


# --- protocol ---


@ENGINES
def test_a_word_that_is_withdrawn_is_seen(engine):
    polite = simulate(RUDE, "rude", {"x": [1, 2, 3]}, engine)
    assert polite.outputs["y"].tolist() == [2, 3, 4] and not polite.violations
    rude = simulate(RUDE, "rude", {"x": [1, 2, 3]}, engine, stalls={"y": [1, 1, 0]})
    assert rude.violations == [
        "cycle 2: y_data changes before the word was taken",
        "cycle 4: y_valid falls before the word was taken",
    ]
    gone = simulate(RUDE, "rude", {"x": [1]}, engine, stalls={"y": [1, 1, 0]})
    assert gone.violations == ["cycle 2: y_valid falls before the word was taken"]
    assert "1 violations" in repr(gone)


# --- long runs ---


def test_a_long_run_keeps_its_last_cycles(monkeypatch):
    monkeypatch.setattr("labkit.fpga.running.traces.MOST_BYTES", 4 * 6 * 100)
    whole = run("counter", {"go": 1}, cycles=70)
    assert whole.trace.first == 0 and whole.trace.cycles == 70
    long = run("counter", {"go": 1}, cycles=1234)
    assert long.trace.first + long.trace.cycles == 1234 and long.trace.cycles < 200
    cycles = np.arange(long.trace.first, 1234)
    assert np.array_equal(long.trace["count"], cycles % 10)


def test_no_trace_on_request():
    done = run("skid", {"x": range(100)}, trace=False)
    assert done.outputs["y"].tolist() == list(range(100)) and done.trace.cycles == 0


# --- what does not fit ---


@pytest.mark.parametrize(
    "top, inputs, options, said",
    [
        ("skid", {}, {}, "The input x of skid gets no value"),
        ("skid", {"x": [1], "z": [1]}, {}, "skid has no input 'z'; it has the stream x"),
        ("skid", {"x": [200]}, {}, "x_data carries -128 to 127 (8 bits, signed)"),
        ("skid", {"x": [1]}, {"words": {"z": 1}}, "words waits for 'z'"),
        ("skid", {"x": [1]}, {"stalls": {"z": [0]}}, "no stream 'z' to stall"),
        ("skid", {"x": [1]}, {"stalls": {"x": [1]}}, "leave no cycle free"),
        ("skid", {"x": [1]}, {"watch": ["nothing"]}, "no signal 'nothing' in skid"),
        ("skid", {"x": [1]}, {"engine": "icarus"}, "take 'cxxrtl' or 'verilator'"),
        ("skid", {"x": [1]}, {"parameters": {"DEPTH": 1}}, "DEPTH"),
        ("fifo", {"x": [1, 2], "x_last": [1]}, {}, "one for each of 2 words"),
        ("counter", {"go": []}, {}, "The input go has no value"),
        ("nothing", {"x": [1]}, {}, "nothing.sv cannot be read"),
    ],
)
def test_what_does_not_fit(top, inputs, options, said):
    with pytest.raises(RTLError) as error:
        run(top, inputs, **options)
    assert said in str(error.value)


def test_ports_that_are_no_stream():
    twisted = RUDE.replace(
        "input logic x_valid, output logic x_ready", "output logic x_valid, input logic x_ready"
    )
    twisted = twisted.replace("x_ready = 1", "x_valid = x_ready").replace(
        "<= x_valid", "<= x_ready"
    )
    with pytest.raises(RTLError, match="x_valid goes with x_data, and x_ready the other way"):
        simulate(twisted, "rude", {"x": [1]})


def test_a_clock_of_another_name():
    source = RUDE.replace("clk", "clock")
    with pytest.raises(RTLError, match="Is it the clock"):
        simulate(source, "rude", {"x": [1]})


def test_mistakes_are_found_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    with pytest.raises(RTLError, match=r"rude.sv, line 11: Signal is not driven: 'unused'"):
        simulate(
            RUDE.replace("  assign unused = y_ready;\n", "").replace("<= x_valid", "<= unused"),
            "rude",
            {"x": [1]},
        )
    assert not list(tmp_path.rglob("*.so"))


def test_no_shortcut_past_the_clock():
    """The cheapest cheat is a model in Python: a bug planted in the source shows in the words."""
    source = (MODULES / "accumulator.sv").read_text()
    buggy = source.replace("sum <= x_last ? 0 : next", "sum <= next")
    inputs = {"x": [1, 2, 3, 4], "x_last": [0, 1, 0, 1]}
    assert simulate(source, "accumulator", inputs).outputs["y"].tolist() == [3, 7]
    assert simulate(buggy, "accumulator", inputs).outputs["y"].tolist() == [3, 10]
    stalls = Stalls(seed=3, share=0.5)
    slow = simulate(source, "accumulator", inputs, stalls=stalls)
    assert int(slow.cycles) > int(simulate(source, "accumulator", inputs).cycles)


PARAMETER = "The parameter WIDTH is -3, and the tools take no negative number from outside. Pass 3"
ABSURD = [
    ({"source": None}, "the path of a file, and this one is None"),
    ({"source": 3}, "the path of a file, and this one is 3"),
    ({"source": []}, "There is no source"),
    ({"top": None}, "no module None"),
    ({"inputs": None}, "The input x of skid gets no value"),
    ({"inputs": [1]}, "inputs is [1]: it should be a dict, such as"),
    ({"inputs": {"x": None}}, "The stream x is None: give a row of whole numbers"),
    ({"inputs": {"x": 1.5}}, "The stream x is 1.5"),
    ({"engine": ["a"]}, "no engine ['a']"),
    ({"parameters": [8]}, "parameters is [8]: it should be a dict"),
    ({"parameters": {"WIDTH": -3}}, PARAMETER),
    ({"parameters": {"WIDTH": "wide"}}, "WIDTH is 'wide': it should be a whole number"),
    ({"parameters": {"WIDTH": 2**70}}, "from 0 to 2,147,483,647"),
    ({"parameters": {"a b": 3}}, "'a b' is no name of a parameter"),
    ({"stalls": [0, 1]}, "stalls is [0, 1]: it should be a dict"),
    ({"stalls": {"x": [[0], [1, 0]]}}, "it should be a row of 0 and 1"),
    ({"stalls": Stalls(-1)}, "The seed of the stalls is -1"),
    ({"stalls": Stalls(1, share=2)}, "from 0 to under 1, not 2"),
    ({"stalls": Stalls(1, share="x")}, "The share of stalled cycles is 'x'"),
    ({"watch": None}, "watch is None: it should be a list of names"),
    ({"watch": "full"}, "watch is 'full': it should be a list of names"),
    ({"vcd": 3}, "vcd is 3: it should be the path of a file"),
    ({"again_after": -1}, "again_after is -1"),
    ({"again_after": 2_000_000}, "from 0 to 1,000,000"),
    ({"again_after": 3, "inputs": {"x": [1], "rst": 0}}, "that needs a port rst"),
]


@pytest.mark.parametrize(("changed", "says"), ABSURD)
def test_absurd_arguments_are_told_in_a_sentence(changed, says):
    given = {"source": MODULES / "skid.sv", "top": "skid", "inputs": {"x": [1]}} | changed
    with pytest.raises(RTLError) as error:
        simulate(**given)
    assert says in str(error.value)


@ENGINES
def test_a_second_reset_begins_the_run_anew(engine):
    """What a reset clears does not show; what it forgets does, and so do no words of before."""
    source = (MODULES / "skid.sv").read_text()
    inputs = {"x": [1, 2, 3, 4, 5]}
    stalls = {"y": [0, 1, 1]}
    first = simulate(source, "skid", inputs, engine, stalls=stalls)
    for cycles in (1, 2, 3, 7):
        again = simulate(source, "skid", inputs, engine, stalls=stalls, again_after=cycles)
        assert again.outputs["y"].tolist() == inputs["x"]
        assert again.times["y"].tolist() == first.times["y"].tolist()
        assert int(again.cycles) == int(first.cycles) and not again.violations
    forgets = source.replace("      full <= 0;\n    end else", "    end else")
    forgets = simulate(forgets, "skid", inputs, engine, stalls=stalls, again_after=3)
    assert forgets.outputs["y"].tolist() != inputs["x"]


def test_a_second_reset_needs_a_port():
    source = "module m (input logic clk, a, output logic b);\n  assign b = a;\nendmodule"
    with pytest.raises(RTLError, match="needs a port rst"):
        simulate(source, "m", {"a": 1}, cycles=5, again_after=2)


@pytest.mark.parametrize(
    ("ends", "says"),
    [
        ({"limit": -1}, "limit is -1: it should be a whole number from 1 on"),
        ({"words": 2**70}, "should be a whole number from 0 on"),
        ({"cycles": -1}, "cycles is -1"),
        ({"cycles": "many"}, "cycles is 'many'"),
    ],
)
def test_the_end_of_a_run_is_a_whole_number(ends, says):
    with pytest.raises(RTLError, match=says):
        simulate(MODULES / "accumulator.sv", "accumulator", {"x": [1]}, **ends)


def test_a_module_without_an_output_is_refused():
    with pytest.raises(RTLError, match="has no output, so nothing that it does shows"):
        simulate("module m (input logic clk, rst);\nendmodule", "m", {}, cycles=3)
