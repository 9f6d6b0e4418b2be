"""The pictures of lesson faults: what is drawn is what was handed in."""

import pytest

from labkit.provenance import counted
from labkit_lessons.distributed.faults import pictures as faults_pictures
from labkit_lessons.distributed.faults.checkpoint_interval import predicted_share
from labkit_lessons.distributed.faults.pictures import (
    guesses_table,
    intervals_picture,
    roles_picture,
    twice_picture,
)

CLUSTER = {"chief": ["a:1"], "ps": ["a:2", "b:2"], "worker": ["a:3", "b:3", "c:3"]}


@pytest.fixture
def shown(monkeypatch):
    found = []
    monkeypatch.setattr(faults_pictures, "show", lambda figure, alt: found.append((figure, alt)))
    return found


def texts(figure):
    """Every text in a figure."""
    (axes,) = figure.axes
    return [text.get_text() for text in axes.texts]


def test_each_process_stands_with_its_role_and_address(shown):
    roles_picture(CLUSTER)
    ((figure, alt),) = shown
    said = texts(figure)
    for name in ("coordinator\na:1", "server 0\na:2", "server 1\nb:2", "worker 2\nc:3"):
        assert name in said
    arrows = [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None)]
    assert len(arrows) == 3 + 3 * 2
    assert "1 coordinator above 3 workers" in alt and "above 2 servers" in alt


def test_boxes_of_a_row_do_not_overlap(shown):
    roles_picture(CLUSTER)
    ((figure, _),) = shown
    boxes = [patch.get_bbox() for patch in figure.axes[0].patches]
    assert len(boxes) == 6
    for place, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:place])


def test_a_step_is_applied_by_two_workers(shown):
    twice_picture()
    ((figure, alt),) = shown
    said = texts(figure)
    assert said.count("step 700") == 2 and said.count("w - rate · g") == 2
    assert "applied" in said and "applied again" in said and "killed" in said
    assert alt.index("killed") < alt.index("applies it again")


def test_shares_and_their_formula_are_drawn(shown):
    shares = {120: 0.34, 1200: 0.1, 9600: 0.36}
    intervals_picture(shares, 60, 11_135, 1096)
    ((figure, alt),) = shown
    line, marks, best = figure.axes[0].lines
    assert marks.get_xdata().tolist() == [2, 20, 160]
    assert marks.get_ydata().tolist() == pytest.approx([34, 10, 36])
    assert line.get_ydata()[0] == pytest.approx(100 * predicted_share(120, 60, 11_135))
    assert best.get_xdata()[0] == pytest.approx(1096 / 60)
    assert alt.endswith("2 minutes 34 %, 20 minutes 10 %, 160 minutes 36 %.")


@pytest.mark.parametrize(
    ("guess", "says"),
    [(1500, "1 too low"), (3002, "1,501 too high"), (1501, "right"), (None, "none")],
)
def test_a_guess_is_told_with_its_difference(capsys, guess, says):
    mine = None if guess is None else counted(guess, "gradients", "me")
    guesses_table({"applied": mine}, {"applied": counted(1501, "gradients", "the server")})
    said = capsys.readouterr().out
    assert says in said and "1,501" in said
