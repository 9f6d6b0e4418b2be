"""Stages of a stream: no word is lost, doubled or swapped, whoever stalls."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import unpack
from labkit.fpga.running.stalls import random_stalls
from tests.fpga.circuits.cycles import gather_cycles, stage_cycles
from tests.fpga.circuits.rtl_cases import both, run, stalled

WORDS = np.random.default_rng(1).integers(0, 256, 200)
STAGES = ("stream_register", "skid_buffer", "stream_fifo")


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_hands_on_every_word_in_order(stage):
    free = both(stage, {"in": WORDS}, len(WORDS))
    assert np.array_equal(free.outputs["out"], WORDS)
    assert free.cycles.value == stage_cycles(len(WORDS))
    for seed in range(5):
        slow = run(stage, {"in": WORDS}, len(WORDS), stalls=stalled("in out", seed))
        assert np.array_equal(slow.outputs["out"], WORDS)
    both(stage, {"in": WORDS}, len(WORDS), stalls=stalled("in out", 9))


@pytest.mark.parametrize(
    ("stage", "room"), [("stream_register", 1), ("skid_buffer", 2), ("stream_fifo", 4)]
)
def test_how_many_words_a_stage_holds(stage, room):
    """The receiver takes nothing in the first 100 cycles."""
    late = np.array([1] * 100 + [0] * 100)
    simulation = run(stage, {"in": WORDS[:50]}, 50, stalls={"out": late})
    taken = simulation.trace["in_valid"] & simulation.trace["in_ready"]
    assert taken[:100].sum() == room


@pytest.mark.parametrize("stage", ["skid_buffer", "stream_fifo"])
def test_ready_does_not_hang_on_the_ready_behind(stage):
    """`in_ready` in a cycle is the same, whatever `out_ready` is in this cycle alone."""
    quiet = run(stage, {"in": WORDS}, None, cycles=20, stalls={"out": [0] * 10 + [1] * 10})
    later = run(stage, {"in": WORDS}, None, cycles=20, stalls={"out": [0] * 11 + [1] * 9})
    assert quiet.trace["out_ready"][10] != later.trace["out_ready"][10]
    assert np.array_equal(quiet.trace["in_ready"][:11], later.trace["in_ready"][:11])


def test_a_queue_wants_a_power_of_two():
    with pytest.raises(RTLError, match="DEPTH must be a power of two"):
        run("stream_fifo", {"in": WORDS}, 1, parameters={"DEPTH": 6})


def test_gather_puts_the_first_word_lowest():
    words = np.arange(1, 61)
    for stalls in (None, stalled("x y")):
        simulation = both("gather", {"x": words}, 12, parameters={"GROUPS": 5}, stalls=stalls)
        assert np.array_equal(unpack(simulation.outputs["y"], 5, 8).ravel(), words)
        if stalls is None:
            assert simulation.cycles.value == gather_cycles(60)


def test_random_stalls_do_stall():
    assert 0.3 < random_stalls(0.4, 0).mean() < 0.5
