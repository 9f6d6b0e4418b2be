"""This lesson: the numbers of its text, and that what it prints follows the modules and tools."""

import dataclasses
import re

import pytest

from labkit import check, figures
from labkit.fpga import place_and_route, prove, timing, waveforms
from labkit.fpga.ports import read_ports
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.yosys import read_commands
from labkit.provenance import compiled
from tests.notebooks.running import Run

PROVED, QUEUE, SUMS = "rules =", "properties=NUMBERED", "sums right"
TIMES, GUESSES, TRIAL = "timing_pictures.paths", "figures.guesses", "latencies.rows"


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "4_timing_and_proof")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def test_the_clocks_at_the_top_and_the_end(lesson):
    slow, fast = lesson.namespace["slow"], lesson.namespace["fast"]
    assert round(slow / 1e6) == 127 and round(fast / 1e6) == 285
    assert round(fast / slow, 2) == 2.25


def test_the_paths_by_hand():
    assert 0.5 + 1 + 1.5 + 1 + 1.5 + 1 == 6.5 and round(1000 / 6.5) == 154
    assert 0.5 + 1 + 1.5 + 1 == 4 and 1000 / 4 == 250 and 1000 / 8 == 125


def test_the_path_of_three_stages_passes_no_adder(lesson):
    one, three = lesson.namespace["timings"].values()
    assert "carry chain" in {step.what for step in one.critical_path}
    assert {step.what for step in three.critical_path} == {"register", "wire", "LUT"}
    assert "out_ready" in three.critical_path[0].name


def test_the_stage_is_proved_and_a_careless_one_is_not(lesson):
    assert "proved for every input, for ever" in printed(lesson, PROVED)
    stage = lesson.namespace["register_stage"]
    careless = stage.replace("!out_valid || out_ready", "1")
    said, _ = lesson.again(PROVED, register_stage=careless)
    assert "proved" not in said and "fails in cycle" in said


def test_each_rule_refuses_a_stage_that_the_others_prove(lesson, capsys):
    stage = lesson.namespace["register_stage"]
    ready = "!out_valid || out_ready"
    twins = stage.replace(f"{ready};", f"{ready} || (in_valid && in_data == out_data);")
    twins = twins.replace("else if (in_ready)", f"else if ({ready})")
    assert "!in_ready" in lesson.again(PROVED, register_stage=twins)[0]
    again = stage.replace("<= in_valid", "<= in_valid || (out_valid && out_data == 5)")
    again = again.replace("out_data  <=", "if (in_valid) out_data <=")
    assert "$past(out_valid && !out_ready)" in lesson.again(PROVED, register_stage=again)[0]
    rare = again.replace("out_data == 5", "out_data == 5 && in_data == 3")
    capsys.readouterr()
    assert check("fpga.register_stage", twins) is not twins
    assert "not when a neighbour waits" in capsys.readouterr().out
    assert check("fpga.register_stage", rare) is not rare
    assert "the solver is not content" in " ".join(capsys.readouterr().out.split())


def test_the_rules_are_safety_and_check_asks_for_progress(lesson, capsys):
    """No rule asks for a word that comes out; the simulation refuses a stage that takes none."""
    stops = lesson.namespace["register_stage"].replace("!out_valid || out_ready", "0")
    assert check("fpga.register_stage", stops) is not stops


def test_the_quiz_on_induction():
    counter = """
module counter (input logic clk, rst, on, output logic [2:0] n);
  always_ff @(posedge clk)
    if (rst) n <= 0; else if (on) n <= n == 2 ? 0 : n + 1;
endmodule
"""
    assert prove(counter, "counter", properties="assert (n != 5);").holds != "proved"
    assert prove(counter, "counter", properties="assert (n <= 2);").holds == "proved"


def test_the_one_stage_tree_has_one_adder_and_ours_seven(lesson):
    """The text says that Yosys has merged the adders: 16 bits are eight pieces of a carry chain."""
    found = {}
    for name, (module, top) in lesson.namespace["trees"].items():
        sources = read_sources(module, top)
        around = timing._between_registers(sources, read_ports(sources, None), None)
        script = [*read_commands(around), "synth_ecp5 -json design.json"]
        types = timing._run(around, script, top, [1])["types"].values()
        found[name] = list(types).count("CCU2C") / 8
    assert found == {"one stage": 1, "three stages": 7}


def test_other_placements_give_about_twice(lesson):
    ratios = []
    for seed in range(2, 6):
        trees = lesson.namespace["trees"].values()
        slow, fast = (place_and_route(*tree, seeds=[seed]).fmax for tree in trees)
        ratios.append(round(float(fast) / float(slow), 1))
    assert (min(ratios), max(ratios)) == (1.9, 2.1)


def test_the_queue_passes_both_simulations_and_loses_a_word_in_cycle_5(lesson):
    said = printed(lesson, QUEUE)
    assert said.count("all words right: True") == 2
    assert "1,001 cycles" in said and "2,001 cycles" in said
    assert "in cycle 5 out_valid is 0 again: the word is lost" in said
    assert lesson.namespace["lost"].value == 5
    assert lesson.namespace["proof"].counterexample["rst"][:2] == [1, 0]


def test_a_repaired_queue_has_no_counterexample(lesson, monkeypatch):
    monkeypatch.setattr(waveforms, "draw", lambda *given: None)
    repaired = lesson.namespace["queue"]
    assert prove(repaired, "queue").holds == "proved"
    said, _ = lesson.again(QUEUE, QUEUE=repaired, waveforms=waveforms)
    assert "word is lost" not in said and "all words right: True" in said


def test_the_check_tells_wrong_sums_and_counts_cycles(lesson):
    said = printed(lesson, SUMS)
    assert "1,001" in said and "1,003" in said and said.count("yes") == 2
    half = lesson.namespace["pipelined_tree"].replace("fours[0] + fours[1]", "fours[0]")
    said, _ = lesson.again(SUMS, pipelined_tree=half)
    assert said.count("yes") == 1 and said.count("no") >= 1


def test_the_guesses_are_held_against_this_runs_results(lesson):
    def other(module, top):
        found = place_and_route(module, top)
        if top == "tree":
            return dataclasses.replace(found, fmax=compiled(95e6, "Hz", "a tool"))
        return found

    shown = []
    pictures = type("pictures", (), {"guesses": shown.extend, "table": figures.table})
    lesson.again(TIMES, GUESSES, place_and_route=other, figures=pictures)
    assert round(float(shown[0][2])) == 3 and float(shown[1][2]) == 5


def test_the_trial_follows_the_clock(lesson):
    said = printed(lesson, TRIAL)
    assert "84.1 ns" in said and "100 ns" in said and "16 µs" in said
    assert round(17.2 / 0.497) == 35 and round(2 / 0.497) == 4
    for difference in ("research", "65 %", "does not name", "16 inputs at once"):
        assert difference in " ".join(said.split())
    timings = dict(lesson.namespace["timings"])
    slower = dataclasses.replace(timings["three stages"], fmax=compiled(24e6, "Hz", "a tool"))
    said, _ = lesson.again(TRIAL, timings=timings | {"three stages": slower})
    assert "1 µs" in said and "84.1 ns" not in said
