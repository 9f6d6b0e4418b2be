"""The pictures of a grid show what its registers hold, and say it in words."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from labkit.figures import style
from labkit.tpu.matrix_unit import pictures
from labkit.tpu.matrix_unit.systolic import SystolicArray


def run(dataflow="ws", rows=3, cols=4, **options):
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-9, 10, shape).astype(np.int8) for shape in ((5, 4), (4, 5)))
    return SystolicArray(rows, cols).matmul(a, b, dataflow, trace=True, **options)


@pytest.fixture
def drawn(monkeypatch):
    figures = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: figures.append((figure, alt)))
    return figures


@pytest.mark.parametrize("dataflow", ["ws", "is", "os"])
def test_colours_and_numbers_are_those_of_the_trace(drawn, dataflow):
    seen = run(dataflow)
    numbers = pictures.numbering(seen)
    places = [1, 4, len(seen.trace) // 2, len(seen.trace) - 1]  # in the trace
    pictures.picture(seen, *(numbers[place] for place in places))
    ((figure, _),) = drawn
    for ax, place in zip(figure.axes, places, strict=True):
        cycle = seen.trace[place]
        assert ax.get_title() == f"cycle {numbers[place]}: {cycle.phase}"
        fills = [to_hex(patch.get_facecolor()) for patch in ax.patches]
        assert fills.count(style.BLUE) == cycle.active.sum()
        assert fills.count(style.SKY) == (cycle.passing & ~cycle.active).sum()
        assert len(fills) == cycle.active.size
        said = {text.get_position(): text.get_text() for text in ax.texts}
        for i, j in np.argwhere(cycle.active):
            assert said[j + 0.5, i + 0.5] == str(cycle.psum[i, j])
        for i, value in cycle.left.items():
            assert f"{value} →" in [text for (x, y), text in said.items() if x < 0 and int(y) == i]
        below = {int(x): text for (x, y), text in said.items() if y > seen.rows and x < seen.cols}
        assert below == {j: str(value) for j, (*_, value) in cycle.leaves.items()}


LETTERS = {"ws": ("a", "w"), "is": ("w", "a"), "os": ("a", "w")}  # from the left, from the top


@pytest.mark.parametrize("dataflow", LETTERS)
def test_the_letters_of_the_matrices_stand_where_their_numbers_enter(drawn, dataflow):
    seen = run(dataflow, rows=4, cols=5)
    numbers = pictures.numbering(seen)
    from_left, from_top = LETTERS[dataflow]
    for t, cycle in zip(numbers, seen.trace, strict=True):
        pictures.picture(seen, t)
        texts = drawn[-1][0].axes[0].texts
        letters = {text.get_position(): text.get_text() for text in texts}
        letters = {place: text for place, text in letters.items() if text in ("a", "w", "y")}
        assert letters.get((-0.7, -0.4)) == (from_left if cycle.left else None)
        assert letters.get((5.4, -0.4)) == (from_top if cycle.top else None)
        assert letters.get((5.4, 4.4)) == ("y" if cycle.leaves else None)


@pytest.mark.parametrize("dataflow", LETTERS)
@pytest.mark.parametrize("double", [False, True])
def test_cycle_0_is_the_first_in_which_a_number_enters_at_the_left(dataflow, double):
    if double and dataflow != "ws":
        return
    seen = run(dataflow, double_buffer=double)
    loading = 0 if dataflow == "os" else seen.rows
    assert pictures.numbering(seen) == range(-loading, len(seen.trace) - loading)
    assert [bool(cycle.left) for cycle in seen.trace[: loading + 1]] == [False] * loading + [True]


def test_the_alt_text_counts_who_computes(capsys):
    seen = run(double_buffer=True)
    pictures.picture(seen, -2, 6)
    said = capsys.readouterr().out
    for t in (-2, 6):
        cycle = seen.trace[t + seen.rows]
        assert f"in cycle {t} ({cycle.phase}) {cycle.active.sum()} compute" in said


def test_one_cycle_of_each_dataflow_side_by_side(drawn):
    runs = [run(dataflow, rows=4, cols=5) for dataflow in LETTERS]
    pictures.dataflows(3, *runs)
    ((figure, alt),) = drawn
    assert "ws: w stays, and a at the left enters" in alt
    assert "is: a stays, and w at the left enters" in alt
    assert "os: sum stays, and a at the left, w at the top enters" in alt
    for ax, seen in zip(figure.axes, runs, strict=True):
        assert ax.get_title() == f"{seen.dataflow}, cycle 3"
        cycle = seen.trace[pictures.numbering(seen).index(3)]
        said = {text.get_position(): text.get_text() for text in ax.texts}
        for i, j in np.argwhere(cycle.active):
            assert said[j + 0.5, i + 0.5] == str(cycle.psum[i, j])
        fills = [to_hex(patch.get_facecolor()) for patch in ax.patches]
        assert fills.count(style.BLUE) == cycle.active.sum()
    said = [text.get_text() for text in figure.legends[0].get_texts()]
    assert said == ["computing: its sum", "idle: what stays in it"]


@pytest.mark.parametrize("cycles", [(), (-4,), (1.5,), (1, 2, 3, 4, 5), (10_000,)])
def test_cycles_that_are_not_there_are_refused(cycles):
    with pytest.raises(ValueError, match=r"one to four from -3 to \d+"):
        pictures.picture(run(), *cycles)


def test_what_is_no_run_with_a_trace_is_refused():
    a = np.ones((2, 2), np.int8)
    for given in (SystolicArray(2, 2).matmul(a, a), a):
        with pytest.raises(ValueError, match=r"no run with a trace.*trace=True"):
            pictures.picture(given, 1)


def test_a_large_array_is_drawn_without_its_numbers(drawn):
    for _ in range(2):
        pictures.picture(run(rows=10, cols=10), 1, 11, 15, 20)
    (figure, _), (again, _) = drawn
    assert not any(ax.texts for ax in figure.axes)
    assert style.png(figure) == style.png(again)


def test_the_fills_differ_in_lightness_too():
    grey = sorted(np.dot(_rgb(fill), [0.299, 0.587, 0.114]) for fill in pictures.FILLS.values())
    assert min(np.diff(grey)) > 0.05


def _rgb(colour):
    return [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
