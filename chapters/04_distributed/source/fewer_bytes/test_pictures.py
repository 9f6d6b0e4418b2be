"""The picture of lesson fewer_bytes: its alt text says what was handed in."""

import pytest

from labkit_lessons.distributed.fewer_bytes import pictures as fewer_bytes_pictures
from labkit_lessons.distributed.fewer_bytes.pictures import losses_picture


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
