"""What the pictures of lesson restarts_and_monitoring say is what they are given."""

import pytest

from labkit_lessons.distributed.restarts_and_monitoring import pictures as restarts_pictures
from labkit_lessons.distributed.restarts_and_monitoring.pictures import (
    PANELS,
    forgotten_picture,
    ranks_picture,
    restart_picture,
    running_means,
)


@pytest.fixture
def shown(monkeypatch):
    seen = []
    monkeypatch.setattr(restarts_pictures, "show", lambda figure, alt: seen.append((figure, alt)))
    return seen


def losses(first, last, shift=0.0):
    return {"loss": [(step, 4 - step / 10 + shift) for step in range(first, last + 1)]}


@pytest.mark.parametrize(("shift", "word"), [(0.0, "the same"), (0.01, "different")])
def test_two_starts(shown, shift, word):
    restart_picture([losses(1, 22), losses(17, 30, shift)], saved=(8, 16, 24))
    ((figure, alt),) = shown
    assert "ends with step 22" in alt and "begins with step 17 and ends with step 30" in alt
    assert f"Of the 6 steps that both have done, the losses are {word}." in alt
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert len(lines["first start"].get_xdata()) == 22
    assert len(lines["second start"].get_xdata()) == 14
    assert list(lines["a rank dies after this step"].get_xdata()) == [22]


def test_forgotten_parts(shown):
    forgotten_picture({"the step": [0.0, 3.4, 1.0], "the position": [0.0, -5.0, 12.6]})
    ((figure, alt),) = shown
    assert alt.endswith("At most: without the step 3 %; without the position 13 %.")
    assert list(figure.axes[0].lines[1].get_ydata()) == [0.0, 3.4, 1.0]


def test_four_panels_without_measured_numbers_in_words(shown):
    series = {name: [(1, 5.0), (2, 7.0)] for name, _ in PANELS}
    ranks_picture({0: series, 1: series})
    ((figure, alt),) = shown
    assert len(figure.axes) == 4 and all(len(axes.lines) == 2 for axes in figure.axes)
    assert "2 ranks" in alt and not any(number in alt for number in ("5", "6", "7"))


def test_a_point_is_the_mean_of_five_steps():
    assert running_means([2.0, 4.0]).tolist() == [2, 3]
    assert running_means([0.0] * 9 + [5.0] * 5).tolist() == [0] * 9 + [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda: restart_picture([], saved=()), "each start needs losses"),
        (lambda: restart_picture([losses(1, 3), {}], saved=()), "each start needs losses"),
        (lambda: forgotten_picture({}), "no losses to draw"),
        (lambda: forgotten_picture({"the step": []}), "no losses to draw"),
        (lambda: ranks_picture({}), "each rank tells communication share"),
        (lambda: ranks_picture({0: losses(1, 3)}), "each rank tells communication share"),
    ],
)
def test_what_cannot_be_drawn_is_told(draw, sentence, shown):
    with pytest.raises(ValueError, match=sentence):
        draw()
    assert not shown
