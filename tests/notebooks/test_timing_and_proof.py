"""This lesson: the numbers of its text, and that what it prints follows the modules and tools."""

import dataclasses
import re

import pytest

from labkit import figures
from labkit.fpga import place_and_route, prove, waveforms
from labkit.provenance import compiled
from tests.notebooks.running import Run

PROVED, QUEUE, SUMS = "arrives =", "properties=NUMBERED", "sums right"
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
    assert "proved" not in said and "In cycle" in said


def test_the_queue_passes_both_simulations_and_loses_a_word_in_cycle_5(lesson):
    said = printed(lesson, QUEUE)
    assert said.count("all words right: True") == 2
    assert "1,001 cycles" in said and "2,001 cycles" in said
    assert "in cycle 5 out_valid is 0 again: the word is lost" in said
    assert lesson.namespace["lost"].value == 5


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
    assert round(17.2 / 0.497) == 35
    timings = dict(lesson.namespace["timings"])
    slower = dataclasses.replace(timings["three stages"], fmax=compiled(24e6, "Hz", "a tool"))
    said, _ = lesson.again(TRIAL, timings=timings | {"three stages": slower})
    assert "1 µs" in said and "84.1 ns" not in said
