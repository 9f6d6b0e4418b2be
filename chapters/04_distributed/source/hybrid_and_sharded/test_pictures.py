"""The pictures say in their alt texts what they draw, and refuse what they cannot."""

import pytest

from labkit.distributed.launching.live_bytes import ACTIVATIONS, GRADIENTS, PARAMETERS, STATE
from labkit.distributed.sharded.memory import bytes_of_state
from labkit_lessons.distributed.hybrid_and_sharded import pictures
from labkit_lessons.distributed.hybrid_and_sharded.mesh_groups import Mesh
from labkit_lessons.distributed.hybrid_and_sharded.trained import Run


@pytest.fixture
def shown(monkeypatch):
    """(figure, alt text) of what was shown."""
    found = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: found.append((figure, alt)))
    return found


def run(*millions):
    kinds = (PARAMETERS, GRADIENTS, STATE, ACTIVATIONS)
    held = {kind: int(1e6 * size) for kind, size in zip(kinds, millions, strict=True)}
    worst = {kind: 2 * size for kind, size in held.items()}
    return Run([], {}, 0, [], held, worst)


def test_bars_end_where_the_bytes_do_and_marks_where_the_formula_says(shown):
    runs = {"one": run(4, 4, 8, 0), "two": run(1, 1, 2, 3)}
    predicted = {"one": bytes_of_state(10**6, 4, 0), "two": bytes_of_state(10**6, 4, 3)}
    pictures.memory_picture(runs, predicted)
    ((figure, alt),) = shown
    (axes,) = figure.axes
    ends = {}
    for bar in axes.patches:
        if bar.get_width():
            row = round(bar.get_y() + bar.get_height() / 2, 1)
            ends[row] = max(ends.get(row, 0), bar.get_x() + bar.get_width())
    assert ends == pytest.approx({0.0: 16, 1.0: 32, 2.6: 7, 3.6: 14})
    marks = [line.get_xdata()[0] for line in axes.lines if len(line.get_xdata())]
    assert marks == pytest.approx([4, 8, 16, 1, 2, 4])
    assert "one: 16.0 MB after backward, 32.0 MB at the peak." in alt
    assert "two: 7.0 MB after backward, 14.0 MB at the peak." in alt


def test_a_mesh_has_its_ranks_in_rows(shown):
    pictures.mesh_picture(Mesh({"data": 2, "tensor": 3}))
    ((figure, alt),) = shown
    (axes,) = figure.axes
    places = {text.get_text(): text.get_position() for text in axes.texts}
    assert places["rank 4"] == (1, 1) and places["rank 2"] == (2, 0)
    assert "groups along data: (0, 3), (1, 4), (2, 5)" in alt


def test_what_cannot_be_drawn_is_told(shown):
    with pytest.raises(ValueError, match="mesh_picture draws two sides; this mesh is 4"):
        pictures.mesh_picture(Mesh({"data": 4}))
    with pytest.raises(ValueError, match="runs \\['one'\\], and predicted \\[\\]"):
        pictures.memory_picture({"one": run(1, 1, 1, 1)}, {})
    assert not shown
