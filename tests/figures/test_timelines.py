"""labkit.figures.timelines: who works when, and the sentence that says it."""

from itertools import pairwise

import pytest

from labkit import figures

STAGES = [("prepare", "CPU", 3e-3), ("copy", "bus", 1e-3), ("compute", "GPU", 2e-3)]


def ends(rows):
    return max(stop for spans in rows.values() for *_, stop in spans)


def test_in_turn_everything_waits():
    rows = figures.pipeline(STAGES, rounds=3, overlapped=False)
    assert ends(rows) == pytest.approx(3 * 6e-3)
    assert [*rows] == ["CPU", "bus", "GPU"] and {len(spans) for spans in rows.values()} == {3}


def test_overlapped_the_slowest_stage_sets_the_pace():
    rows = figures.pipeline(STAGES, rounds=10, overlapped=True)
    assert ends(rows) == pytest.approx(10 * 3e-3 + 1e-3 + 2e-3)
    for spans in rows.values():  # a worker does one thing at a time
        assert all(a[2] <= b[1] + 1e-12 for a, b in pairwise(spans))
    for before, after in (("CPU", "bus"), ("bus", "GPU")):  # and waits for its input
        assert all(a[2] <= b[1] + 1e-12 for a, b in zip(rows[before], rows[after], strict=True))


def test_two_stages_of_one_worker_follow_each_other():
    stages = [("forward", "GPU", 1.0), ("backward", "GPU", 2.0)]
    rows = figures.pipeline(stages, rounds=2, overlapped=True)
    assert [span[1:] for span in rows["GPU"]] == [(0, 1), (1, 3), (3, 4), (4, 6)]


def test_a_timeline_says_who_does_what_for_how_long(capsys):
    rows = {"GPU": [("forward", 5.0, 5.002), ("backward", 5.003, 5.006)], "CPU": []}
    figures.timeline(rows, "measured on a test")
    said = capsys.readouterr().out
    assert "Timeline of 6 ms, measured on a test. GPU: forward 2 ms, backward 3 ms" in said
    figures.timeline({"GPU": [("copy", 0, 5e-5)]}, "predicted")
    assert "Timeline of 50 µs" in capsys.readouterr().out
