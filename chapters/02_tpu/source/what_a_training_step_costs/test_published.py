"""published.py: what is calculated from published numbers, and that each has its source."""

import pytest

from labkit_lessons.tpu.what_a_training_step_costs import published


def test_the_speeds_of_the_two_logs():
    speeds = [log.speed for log in published.DAWNBENCH]
    assert [float(speed) for speed in speeds] == pytest.approx([3250, 4006], abs=1)
    assert all(speed.word == "published" and "DAWNBench" in speed.source for speed in speeds)


def test_work_for_each_joule_is_speed_over_power():
    pair = published.Pair("half the speed at a quarter of the power", 0.5, 100, 400)
    assert float(pair.work_ratio) == 2 and pair.work_ratio.word == "predicted"


def test_the_links_of_a_v5e_have_their_source():
    assert published.V5E_LINKS.word == "published" and "v5e" in published.V5E_LINKS.source
