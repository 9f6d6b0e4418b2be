"""The pictures of parameter servers: what they draw is what they were given."""

from types import SimpleNamespace

import pytest

from labkit.distributed.parameter_server.arrivals import arrival_order
from labkit.distributed.parameter_server.rules import Asynchronous, Synchronous
from labkit_lessons.distributed.parameter_servers import pictures


@pytest.fixture
def shown(monkeypatch):
    """The figures, with their alt texts."""
    found = []
    monkeypatch.setattr(pictures, "show", lambda figure, alt: found.append((figure, alt)))
    return found


def training(losses, moments=None, workers=None, staleness=None):
    return SimpleNamespace(
        losses=losses,
        moments=moments or [0.1 * (1 + i) for i in range(len(losses))],
        workers=workers or [i % 2 for i in range(len(losses))],
        staleness=staleness or [0] * len(losses),
    )


def texts(axes):
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_a_step_by_hand(shown):
    pictures.step_picture([1, 2, 3, 4, 5, 6], [[2, 2, 2, 4, 4, 4], [0, 2, 4, 0, 2, 4]], rate=1)
    figure, alt = shown[0]
    push, pull = figure.axes
    assert {"server 0\n(1, 2, 3)", "server 1\n(4, 5, 6)", "worker 0", "worker 1"} <= {*texts(push)}
    assert {"(2, 2, 2)", "(4, 4, 4)", "(0, 2, 4)"} <= {*texts(push)}
    assert texts(pull).count("(0, 0, 0)") == 2, "the new half goes to both workers"
    assert texts(pull).count("(2, 2, 2)") == 2
    assert "Server 1 holds (4, 5, 6), receives (4, 4, 4), (0, 2, 4), and sends (2, 2, 2)" in alt


@pytest.mark.parametrize(("weights", "gradients"), [([1], [[1], [1]]), ([1, 2], [[1, 2]])])
def test_a_step_that_cannot_be_drawn(weights, gradients):
    with pytest.raises(ValueError, match="two workers, and an even number of weights"):
        pictures.step_picture(weights, gradients, 0.1)


def test_the_steps_of_all_workers(shown):
    free = arrival_order([0.01, 0.027], 20, Asynchronous(), jitter=0)
    lockstep = arrival_order([0.01, 0.027], 20, Synchronous(), jitter=0)
    pictures.workers_picture({"synchronous": lockstep, "asynchronous": free}, until=0.06)
    figure, alt = shown[0]
    together, alone = figure.axes
    assert texts(together) == ["0"] * 4
    # Worker 0 pushes at 10, 20, ..., 60 ms, and worker 1 at 27 and 54 ms.
    assert sorted(texts(alone)) == ["0", "0", "0", "0", "1", "1", "2", "3"]
    assert alt == ("synchronous: 4 steps end within 60 ms; asynchronous: 8 steps end within 60 ms.")
    assert together.get_xlim() == alone.get_xlim() == (0, 60)


def test_losses_against_gradients_and_time(shown):
    rising = [float("nan") if i > 60 else 2.0 + i for i in range(80)]
    pictures.losses_picture(
        {"one": training([1.5] * 50), "other": training(rising, moments=list(range(80)))}
    )
    figure, alt = shown[0]
    left, right = figure.axes
    assert list(left.lines[0].get_xdata()) == list(range(40, 51))
    assert left.lines[0].get_ydata() == pytest.approx([1.5] * 11)
    assert list(right.lines[1].get_xdata()) == list(range(39, 80))
    assert left.get_ylim()[1] == right.get_ylim()[1] == 3
    assert "one: ends at a loss of 1.5, after 5.0 s." in alt
    assert "other: leaves the picture, after 79.0 s." in alt


@pytest.mark.parametrize("count", [1, 5])
def test_what_losses_cannot_be_drawn(count):
    length = 39 if count == 1 else 40
    with pytest.raises(ValueError, match="up to 4 trainings of 40 gradients or more"):
        pictures.losses_picture({str(i): training([1.0] * length) for i in range(count)})


def test_the_shares_of_staleness(shown):
    run = training([1.0] * 4, workers=[0, 0, 0, 1], staleness=[0, 1, 1, 5])
    pictures.staleness_picture({"asynchronous": run}, slowest=1)
    figure, alt = shown[0]
    (axes,) = figure.axes
    fast, slow = axes.containers
    assert [bar.get_height() for bar in fast] == [0.25, 0.5, 0, 0, 0, 0]
    assert [bar.get_height() for bar in slow] == [0, 0, 0, 0, 0, 0.25]
    assert alt.endswith("asynchronous: 1.8 on average, at most 5.")
