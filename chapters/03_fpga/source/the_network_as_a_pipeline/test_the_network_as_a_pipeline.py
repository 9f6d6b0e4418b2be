"""This lesson: what it prints follows the circuits, and the numbers of its text are right."""

import re

import numpy as np
import pytest

from labkit import figures
from labkit.fpga import cycle_formulas
from labkit.fpga.convnet import pipeline_runs
from labkit.fpga.convnet.accelerator_cycles import section_beats
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit_lessons.fpga.the_network_as_a_pipeline import pipeline_pictures
from labkit_lessons.fpga.the_network_as_a_pipeline.exercises import deepest
from tests.notebooks.running import Run

WAVE, ORDER, SHORT, DEPTH = "waveforms.draw", "fc1_columns =", "short =", "pixels = 512"
REPAIRED, GUESSES = "repaired =", "figures.guesses"


@pytest.fixture(scope="module")
def lesson():
    return Run("03_fpga", "5_the_network_as_a_pipeline")


def printed(lesson, words):
    return lesson.printed[lesson.cell(words)]


def rows(said):
    """The numbers of each line that has nothing else."""
    lines = [line.split() for line in said.splitlines()]
    number = re.compile(r"[\d,]+")
    return [
        [int(n.replace(",", "")) for n in line]
        for line in lines
        if line and all(number.fullmatch(n) for n in line)
    ]


def test_the_numbers_at_the_top():
    shapes = Shapes().weights
    conv1 = 32 * 32 * cycle_formulas.conv_fold(3, 32, 3, 1)
    conv2 = 16 * 16 * cycle_formulas.conv_fold(32, 64, 8, 1)
    fc1 = np.prod(shapes["fc1"]) // 8
    assert (conv1, conv2, fc1) == (32_768, 65_536, 65_536)
    assert conv1 + conv2 + fc1 == 163_840 and np.prod(shapes["fc1"]) == 524_288
    assert cycle_formulas.conv_multipliers(3, 1) == 27
    assert cycle_formulas.conv_multipliers(8, 1) == 72


def test_the_examples_by_hand(lesson):
    names = lesson.namespace
    assert np.array_equal(np.array([[1, 2, 3], [4, 5, 6]]) @ [7, 8, 9], [50, 122])
    ordered = names["stream_order"](np.array([[1, 2, 3, 4], [5, 6, 7, 8]]), C=2, H=1, W=2)
    assert ordered.tolist() == [[1, 5], [3, 7], [2, 6], [4, 8]]
    assert names["queue_depth"](np.arange(4), 2) == deepest(np.arange(4), 2) == 3


def test_the_wave_shows_the_example(lesson):
    run = lesson.again(WAVE)[1]["run"]
    assert run.outputs["y"].tolist() == [50, 122] and run.times["y"].tolist() == [5, 6]
    assert list(run.trace["total"][:6]) == [7, 28, 23, 68, 50, 122]


def test_the_depth_is_that_of_the_real_values(lesson):
    assert "273 values in one row, so room for 512" in printed(lesson, DEPTH)
    values = lesson.namespace["repaired"].values
    arrivals = lesson.namespace["arrivals"]
    assert np.array_equal(values[:512] - values[0], arrivals)
    assert deepest(values, 16) == 273
    run = lesson.namespace["repaired"]
    assert int(np.flatnonzero(run.working["conv2"])[0]) == 3_613 and int(values[0]) == 7_968
    assert 0 <= 7_968 - (3_613 + 16 * 256 + 256) < 10
    assert most_in_the_queue(run) == 273


def most_in_the_queue(run):
    """Values that have come and are not yet multiplied with all their weights."""
    come = np.zeros(len(run.working["fc1"]), int)
    come[run.values] = 1
    return int(np.max(np.cumsum(come) - np.cumsum(run.working["fc1"]) // 16))


def test_many_images_fill_the_queue(lesson):
    """A quiz says so: fc1 waits for the stream, and conv2 does not."""
    images = np.tile(lesson.namespace["x"][:1], (8, 1, 1, 1))
    assert most_in_the_queue(pipeline_runs.watch(lesson.namespace["golden"].layers, images)) >= 512


def test_the_depth_follows_the_learner_s_function(lesson):
    said, _ = lesson.again(DEPTH, queue_depth=lambda arrivals, work: 100)
    assert "100 values in one row, so room for 128" in said


def test_the_accelerator_counts_and_agrees(lesson):
    said = printed(lesson, ORDER)
    assert "golden model: True" in said
    assert rows(said) == [[1, 73_778, 73_778, 73_778], [16, 1_067_751, 1_067_751, 66_734]]
    said, _ = lesson.again(ORDER, stream_order=lambda w, C, H, W: w.T)
    assert "golden model: False" in said, "fc1's weights are the learner's"


def test_a_longer_queue_repairs_the_stall(lesson):
    (short, repaired) = rows(printed(lesson, REPAIRED))
    assert short == [2, 113_279, 7_970, 65_536, 39_606, 167]
    assert repaired == [512, 73_778, 7_970, 65_536, 105, 167]
    for row in (short, repaired):
        assert sum(row[2:]) == row[1]
    assert 105 + 167 == 272 and 7_970 + 105 + 167 == 8_242 and 131_072 + 8_242 == 139_314
    said, _ = lesson.again(REPAIRED, size=2)
    assert rows(said)[1] == short, "the run follows the learner's queue"


def test_where_the_cycles_before_fc1_come_from(lesson):
    """conv2 waits for its first window: its weights are on the chip before."""
    run = lesson.namespace["repaired"]
    conv1 = np.flatnonzero(run.working["conv1"])
    first_window = (3 * 32 + 4) * 32
    assert conv1[0] == 382 and first_window == 3_200 and 16 * 256 + 256 == 4_352
    assert 382 + 3_200 + 4_352 + 36 == 7_970
    assert 0 < 3_613 - conv1[first_window - 1] < 36, "the last output that the window needs"
    beats = section_beats(Folding())
    before = list(beats)[: list(beats).index("conv2 weights") + 1]
    assert sum(beats[name] for name in before) + beats["conv1 weights"] == 3_202 < 3_613


def test_a_further_image(lesson):
    beats = section_beats(Folding())
    assert sum(beats[name] for name in ("image", "fc1 weights", "fc2 weights")) == 66_208
    assert 8 * (beats["fc1 weights"] + beats["fc2 weights"]) == 524_288 + 1_280 == 525_568
    assert round((1_067_751 - 73_778) / 15) == 66_265


def test_fc1_works_in_eight_stretches(lesson):
    short = lesson.namespace["short"]
    said = pipeline_pictures.spoken_rests(short.working)
    assert "fc1 is idle for 39,606 cycles, with 7 long rests" in said
    assert "conv2 is idle for 43,793 cycles, with 0 long rests" in said
    expected = lesson.namespace["expected"][:1]
    for run in (short, lesson.namespace["repaired"]):
        assert [int(work.sum()) for work in run.working.values()] == [32_768, 65_536, 65_536]
        assert np.array_equal(run.logits, expected), "bit-exact while it is watched, too"


def test_guesses_meet_results(lesson, monkeypatch):
    drawn = []
    monkeypatch.setattr(figures, "guesses", drawn.append)
    lesson.again(GUESSES)
    assert [(float(row[2]), row[2].word) for row in drawn[0]] == [
        (73_778, "counted"),
        (113_279, "counted"),
    ]


def test_weights_of_another_shape_are_refused(lesson):
    golden, x = lesson.namespace["golden"], lesson.namespace["x"]
    with pytest.raises(ValueError, match="a row for each input"):
        pipeline_runs.job(golden.layers, x, golden.layer("fc1").weights)


@pytest.mark.night(
    instead="chapters/02_tpu/source/what_a_training_step_costs/test_what_a_training_step_costs.py::test_cells_can_run_again_in_any_order"
)
def test_cells_can_run_again_in_any_order(lesson):
    """After Run All a learner goes back, repairs a module and runs its cells again."""
    left_behind = dict(lesson.namespace)
    for code in lesson.cells:
        assert lesson.execute(code, left_behind) == lesson.printed[code]
