"""Emulated pipelines: each stage's real order of work and its dependencies, never its speed."""

import pytest
import torch

from labkit.distributed import LaunchError, launch
from labkit.distributed.pipeline.emulated import Emulated, EmulatedStage, measure_ways
from labkit.distributed.pipeline.predictions import predict, seconds_of
from labkit.distributed.pipeline.runner import run
from labkit.distributed.pipeline.schedules import forward_only, gpipe, needs, one_f_one_b
from labkit_lessons.distributed.pipeline import pictures

NAN = float("nan")
WAYS = {
    "GPipe": Emulated(gpipe(3, 4), 0.002, 0.004),
    "1F1B": Emulated(one_f_one_b(3, 4), 0.002, 0.004),
    "fewer stages": Emulated(gpipe(1, 2), 0.002, 0.004),
    "requests": Emulated(forward_only(3, 4), 0.002),
}


@pytest.fixture(scope="module")
def steps():
    return measure_ways(WAYS, ranks=3)


@pytest.mark.parametrize("name", WAYS)
def test_real_stages_keep_the_order_and_wait_for_what_they_need(steps, name):
    schedule, forward, backward = WAYS[name]
    spans = steps[name]
    assert [[span.work for span in row] for row in spans] == list(map(list, schedule.orders))
    ends = {(stage, span.work): span.end for stage, row in enumerate(spans) for span in row}
    for stage, row in enumerate(spans):
        for span in row:
            needed = needs(stage, span.work, schedule.stages)
            assert needed is None or ends[needed] <= span.begin
            # Nothing is faster than its sleep: a step was not made up, or cut short.
            lasts = forward if span.work.kind == "F" else backward
            assert span.end - span.begin > 0.99 * lasts
    assert seconds_of(spans) > 0.99 * seconds_of(predict(*WAYS[name]))
    assert min(span.begin for row in spans for span in row) == 0


def test_the_picture_has_a_box_for_each_piece_of_work(monkeypatch):
    said = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: said.append((figure, alt)))
    panels = {"GPipe, predicted": predict(gpipe(2, 2)), "1F1B": predict(one_f_one_b(2, 2))}
    pictures.schedule_picture(panels, unit="units of time")
    figure, alt = said[0]
    first, second = figure.axes
    assert [text.get_text() for text in first.texts] == ["0", "1", "0", "1"] * 2
    assert first.get_xlim() == second.get_xlim()
    assert [label.get_text() for label in first.get_yticklabels()] == ["stage 0", "stage 1"]
    assert first.get_ylim()[0] > first.get_ylim()[1]  # stage 0 at the top
    assert "GPipe, predicted: 6 units of time, 33 % idle; stage 0 F0 F1 B0 B1;" in alt
    assert "1F1B: 6 units of time, 33 % idle" in alt and "stage 1 F0 B0 F1 B1." in alt


def test_nothing_to_draw_is_refused():
    with pytest.raises(ValueError, match="no step to draw"):
        pictures.schedule_picture({})


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: measure_ways(WAYS, ranks=2), "'GPipe' has 3 stages, and there are 2 ranks"),
        (lambda: measure_ways(WAYS, ranks=3, repeats=0), "once or more, not 0 times"),
        (lambda: measure_ways({"back": Emulated(gpipe(1, 1), -1.0)}, 1), "'back' .* not -1.0"),
        (lambda: measure_ways({"none": Emulated(gpipe(1, 1), NAN)}, 1), "0 or more, not nan"),
        (lambda: pictures.schedule_picture({"empty": []}), "no step to draw"),
    ],
)
def test_what_cannot_be_measured_or_drawn_is_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def raises(rank, ranks):
    stage = EmulatedStage(rank, ranks, 0.0, 0.0)

    def fails(x):
        raise RuntimeError("stage 1 met an error")

    if rank == 1:
        stage.forward = fails
    tokens = torch.zeros(4, 1, dtype=torch.int64)
    run(stage, one_f_one_b(ranks, 4), tokens, tokens, loss=lambda y, _: y.mean())


def test_a_stage_that_fails_ends_all_ranks_although_their_threads_still_send():
    with pytest.raises(LaunchError, match="Rank 1 raised RuntimeError: stage 1 met an error"):
        launch(raises, 3)
