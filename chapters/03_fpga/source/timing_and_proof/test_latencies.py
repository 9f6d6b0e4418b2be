"""latencies.py: the formulas by hand, and the published figures as their sources say."""

import pytest

from labkit.provenance import compiled
from labkit_lessons.fpga.timing_and_proof import latencies


def test_stages_by_hand():
    # A stage of products in each of four layers, and trees for 16, 64, 32 and 32 numbers.
    assert latencies.tree_stages() == 4 + (4 + 6 + 5 + 5) == 24
    assert latencies.tree_stages((3, 1)) == 1 + 2


def test_formulas_follow_the_clock_and_the_peak():
    jets, image, few_bits = latencies.rows(compiled(100e6, "Hz", "a tool"))
    assert float(jets[1]) == pytest.approx(240e-9) and jets[1].word == "predicted"
    products = 16 * 64 + 64 * 32 + 32 * 32 + 32 * 5
    assert float(jets[3]) == pytest.approx(2 * products / 624e12)
    assert float(image[3]) == pytest.approx(8.2e9 / 624e12) and image[1] is None
    assert few_bits[1] is None and few_bits[3] is None, "nobody's formula is for one bit"


def test_published_figures_are_those_of_the_sources():
    jets, image, few_bits = latencies.rows(compiled(100e6, "Hz", "a tool"))
    assert [float(jets[2]), float(jets[4])] == [100e-9, 16e-6]
    # Mean latencies, SingleStream: 17,228,509 and 496,841 ns.
    assert [float(image[2]), float(image[4])] == [17.2e-3, 0.497e-3]
    assert float(few_bits[2]) == 2e-3 and few_bits[4] is None
    shown = (jets[2], jets[4], image[2], image[4], few_bits[2])
    assert {one.word for one in shown} == {"published"}


def test_the_notes_say_how_the_figures_differ():
    jets, image, few_bits = latencies.rows(compiled(100e6, "Hz", "a tool"))
    assert "another network" in jets[4].source and "16 inputs at once" in jets[4].source
    assert "research" in image[2].source and "available" in image[4].source
    assert "65 %" in few_bits[2].source and "1 bit" in few_bits[2].source
