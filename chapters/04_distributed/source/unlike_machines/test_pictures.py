"""The pictures of lesson unlike_machines: what they draw is what was handed in."""

import numpy as np
import pytest

from labkit.distributed import CostModel
from labkit.figures.style import BLUE, ORANGE, PALE
from labkit_lessons.distributed.unlike_machines import pictures as unlike_pictures
from labkit_lessons.distributed.unlike_machines.pictures import (
    newcomer_picture,
    split_picture,
    waiting_picture,
)
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    equal_split,
    split_batch,
)
from labkit_lessons.distributed.unlike_machines.training import BYTES, rehearse

LINK = CostModel(2e-3, 10e6)
FAST, SLOW = Machine(1e-3, 4e-3), Machine(4e-3, 4e-3)
GROUP = Group([FAST, FAST, SLOW], LINK)


@pytest.fixture
def shown(monkeypatch):
    """The figures, with their alt texts."""
    found = []
    monkeypatch.setattr(unlike_pictures, "show", lambda figure, alt: found.append((figure, alt)))
    return found


def widths(axes, colour):
    """Of all boxes of a colour, in milliseconds."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba

    found = []
    for boxes in axes.collections:
        if isinstance(boxes, PolyCollection) and tuple(boxes.get_facecolor()[0]) == to_rgba(colour):
            found += [path.get_extents().width for path in boxes.get_paths()]
    return np.array(found)


def test_boxes_are_as_long_as_their_times(shown):
    runs = {
        "equal": rehearse(GROUP, equal_split, 3, batch=12),
        "speeds": rehearse(GROUP, split_batch, 3, batch=12),
    }
    split_picture(runs, slice(1, 3), "counted")
    figure, alt = shown[0]
    (axes,) = figure.axes
    compute = sum((run.computed - run.begin)[1:].sum() for run in runs.values())
    idle = sum(run.idle[1:].sum() for run in runs.values())
    travel = sum(3 * 2 * GROUP.all_reduce(BYTES) for _ in runs)  # of 3 ranks in 2 steps
    assert widths(axes, BLUE).sum() == pytest.approx(1e3 * compute)
    assert widths(axes, PALE).sum() == pytest.approx(1e3 * idle)
    assert widths(axes, ORANGE).sum() == pytest.approx(1e3 * travel)
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["equal: rank 0", "rank 1", "rank 2", "speeds: rank 0", "rank 1", "rank 2"]
    assert "equal: 4, 4, 4 then 4, 4, 4 photographs, waiting 24, 24, 0 ms" in alt
    assert "ms, counted" in axes.get_xlabel()


def test_lines_are_the_shares_of_waiting(shown):
    run = rehearse(GROUP, split_batch, 5, batch=12)
    waiting_picture({"one": run}, change=2, word="counted")
    figure, alt = shown[0]
    line, change = figure.axes[0].lines
    assert list(line.get_ydata()) == pytest.approx(100 * run.waiting)
    assert set(change.get_xdata()) == {2}
    assert figure.axes[0].get_xlabel() == "step; counted"
    assert f"{100 * run.waiting[0]:.0f} % at first" in alt


def test_the_mark_is_where_the_lines_cross(shown):
    three = Group([FAST] * 3, LINK)
    newcomer_picture(three, SLOW.fixed, [64, 256])
    figure, alt = shown[0]
    for axes in figure.axes:
        equal, balanced, without, mark = axes.lines
        (x,), (y,) = mark.get_data()
        assert np.interp(x, *balanced.get_data()) == pytest.approx(y, rel=1e-3)
        assert set(without.get_ydata()) == {y}
        assert (equal.get_ydata() >= balanced.get_ydata() - 1e-9).all()
    assert "batch 64: it helps from 75 % on; batch 256: it helps from 16 % on" in alt


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="no run to draw"):
        split_picture({})
    with pytest.raises(ValueError, match="draws 1 to 4 runs, not 0"):
        waiting_picture({})
