"""This lesson: what it prints follows the learner's modules, and its numbers are right."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.fpga import cycle_formulas
from labkit.fpga.convnet import budget, hls
from labkit.fpga.errors import RTLError
from labkit_lessons.fpga.a_convolution_as_a_stream import stream_pictures
from tests.fpga.circuits.cycles import conv_layer_cycles, conv_load_cycles
from tests.notebooks.running import Run

CHECK, CYCLES, MEMORY = "waiting = layer_runs.conv", "formula = 32 * 32", "library("
WAYS, GUESSES, WAVE = "hls.outputs()", "figures.guesses", "stream_pictures.centres"


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "3_a_convolution_as_a_stream")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def numbers(text):
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def row(said, name):
    """The numbers of the table's line that begins with a name."""
    (line,) = (line for line in map(str.strip, said.splitlines()) if line.startswith(f"{name}  "))
    return numbers(line[len(name) :])


def late(text):
    """A line buffer that is one step late."""
    return text.replace("words[next]", "words[now]")


def test_the_number_at_the_top():
    picture = 1920 * 1080 * 3
    memory = float(budget.available("bram36")) * 36 * 1024 / 8
    assert round(picture / 1e6, 1) == 6.2 and round(memory / 1e6, 3) == 0.645
    assert round(2 * 1921 * 3 / 1000, 1) == 11.5


def test_the_row_of_three_steps():
    """The table of the text, by a memory in Python."""
    words, q, now = [None] * 3, None, 0
    shown = []
    for d in (7, 8, 9, 4, 5, 6):
        following = (now + 1) % 3
        shown.append((now, following, words[following], q))
        q = words[following]
        words[now], now = d, following
    assert [place[0] for place in shown] == [0, 1, 2, 0, 1, 2]
    assert [place[1] for place in shown] == [1, 2, 0, 1, 2, 0]
    assert [place[2] for place in shown] == [None, None, 7, 8, 9, 4]
    assert [place[3] for place in shown] == [None, None, None, 7, 8, 9]


def test_the_wave_shows_what_the_text_says(lesson, monkeypatch):
    run = lesson.namespace["run"]
    drawn = []
    monkeypatch.setattr(stream_pictures, "centres", lambda *given: drawn.append(given))
    lesson.again(WAVE)
    ((run, cycles),) = drawn
    assert 8 in cycles and max(cycles) < len(run.trace["x_ready"])
    assert run.trace["window_valid"][8] == 1 and run.trace["window_ready"][8] == 0
    assert run.trace["x_ready"][8] == 0 and run.trace["x_data"][8] == 8
    centre = run.trace["window_data"][8] >> 32 & 255
    assert centre == 2
    assert run.trace["window_ready"][10] == 1 and run.trace["x_ready"][10] == 0


def test_the_real_layer_is_computed_by_the_learners_modules(lesson):
    said = printed(lesson, CHECK)
    assert said.count("True") == 2
    mine = lesson.namespace["mine"]
    wrong = mine | {"line_buffer": late(mine["line_buffer"])}
    said, _ = lesson.again(CHECK, mine=wrong)
    assert said.count("False") == 2
    careless = mine["window_control"].replace("step = room && ", "step = ")
    with pytest.raises(RTLError, match="does not end"):  # the multipliers make its windows wait
        lesson.again(CHECK, mine=mine | {"window_control": careless})


def test_cycles_are_counted_and_predicted_alike(lesson):
    said = printed(lesson, CYCLES)
    for lanes in (1, 4):
        fold, image, predicted, counted = row(said, str(27 * lanes))
        assert fold == 32 / lanes
        assert image == cycle_formulas.conv_image_cycles(3, 32, 32, 32, 3, lanes)
        assert predicted == counted == conv_layer_cycles(3, 32, 32, 32, 3, lanes)
    assert conv_load_cycles(3, 32, 3) == 32 * 27 / 3 == 288
    assert round((1080 * 1920 * 32 + 1080 + 1920 + 1) / 1e6) == 66
    mine = lesson.namespace["mine"]
    slow = mine["window_control"].replace("!window_valid || window_ready", "!window_valid")
    slow = slow.replace("else if (room)", "else if (room || window_ready)")
    said, _ = lesson.again(CYCLES, mine=mine | {"window_control": slow})
    _, _, predicted, counted = row(said, "27")
    assert predicted == 33_141 and counted > predicted + 900, "counted, not computed"


def test_memory_is_compiled_from_the_learners_modules(lesson):
    said = printed(lesson, MEMORY)
    small, large = row(said, "32 x 32"), row(said, "1920 x 1080")
    assert small[:2] == [3072, 198] and small[3] == 0
    assert large[:2] == [6_220_800, 11_526] and large[3] == 3
    assert float(budget.available("bram36")) == 140


def test_one_layer_three_ways(lesson):
    said = printed(lesson, WAYS)
    assert row(said, "golden model")[:3] == row(said, "your circuit")[:3] == [100, 100, 0]
    rounded = row(said, "hls4ml, 8 bits, rounded")
    assert 86.5 < rounded[0] < 87.5 and round(rounded[1]) == 61
    assert row(said, "hls4ml, 8 bits, cut off")[1] < rounded[1]
    error = {name: row(said, name)[3] for name in ("golden model", *hls.FORMATS)}
    assert error["hls4ml, 16 bits"] < error["golden model"] < error["hls4ml, 8 bits, rounded"]
    assert round(1 / lesson.namespace["scale"], 1) == 18.3
    assert {hls.FORMATS[name].step for name in hls.FORMATS if "8 bits" in name} == {1 / 16}
    assert round(np.mean(lesson.namespace["expected"] == 0), 1) == 0.7, "about two thirds"
    free = lesson.namespace["free"]
    other = type(free)(np.roll(free.y, 1), free.cycles)
    said, _ = lesson.again(WAYS, free=other)
    assert row(said, "your circuit")[0] < 90


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES, equal={"hls4ml, 8 bits, rounded": 12.0})
    (rams, equal) = drawn[0]
    assert (float(rams[2]), rams[2].word) == (3, "compiled")
    assert (float(equal[2]), equal[2].word) == (12, "counted")


def test_the_rule_on_conv2():
    assert cycle_formulas.conv_fold(32, 64, 8, 2) == 128
    assert cycle_formulas.conv_multipliers(8, 2) == 144
    assert cycle_formulas.conv_image_cycles(32, 64, 16, 16, 8, 2) == 32_801
    assert cycle_formulas.conv_image_cycles(3, 32, 32, 32, 3, 1) == 32_833


def test_the_quiz_has_one_right_answer():
    assert 64 * 64 * 4 + 64 + 64 + 1 == 16_513


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a module and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        assert lesson.execute(code, left_behind) == lesson.printed[code]
