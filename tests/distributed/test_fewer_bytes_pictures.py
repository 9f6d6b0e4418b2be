"""The pictures of lesson fewer_bytes: their alt texts say what was handed in."""

import pytest

from labkit.distributed import fewer_bytes_pictures, large_batches
from labkit.distributed.fewer_bytes_pictures import MARKS, batches_picture, losses_picture


@pytest.fixture
def shown(monkeypatch):
    """The figures, with their alt texts."""
    found = []
    monkeypatch.setattr(
        fewer_bytes_pictures, "show", lambda figure, alt: found.append((figure, alt))
    )
    return found


def test_a_line_is_the_mean_over_twenty_steps(shown):
    losses_picture({"one": range(30), "other": [2.0] * 25})
    figure, alt = shown[0]
    one, other = figure.axes[0].lines
    assert list(one.get_xdata()) == list(range(20, 31))
    assert one.get_ydata() == pytest.approx([9.5 + i for i in range(11)])
    assert other.get_ydata() == pytest.approx([2.0] * 6)
    assert alt == "Training loss over 30 steps, a line for each of: one, other."


@pytest.mark.parametrize("losses", [{"short": [1.0] * 19}, {str(i): [1.0] * 20 for i in range(5)}])
def test_what_cannot_be_drawn(losses):
    with pytest.raises(ValueError, match="up to 4 trainings of 20 steps or more"):
        losses_picture(losses)


def test_every_run_of_the_log_is_a_mark(shown):
    runs = large_batches.read()
    batches_picture(runs)
    figure, alt = shown[0]
    left, right = figure.axes
    places = {run.batch * aside for run in runs for _, _, aside in MARKS.values()}
    marks = [line for line in left.lines if line.get_marker() != "None"]
    drawn = [(x, y) for line in marks for x, y in zip(*line.get_data(), strict=True)]
    assert {x for x, _ in drawn} == places, "no mark covers another rule's"
    assert sorted(y for _, y in drawn) == sorted(run.loss for run in runs)
    assert list(right.lines[0].get_ydata()) == [
        run.bytes_per_sample for run in large_batches.select(runs, "linear", 0)
    ]
    assert "from 5,943 to 95" in alt
    assert "linear 1.07, 1.13, 1.23, 1.32, 1.40, 2.20, 2.30" in alt
