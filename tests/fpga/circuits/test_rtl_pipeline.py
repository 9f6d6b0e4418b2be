"""What joins the layers of the accelerator: narrow words, queues, stored weights, biases."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import unpack
from tests.fpga.circuits.rtl_cases import both, run, stalled

WORDS = np.random.default_rng(2).integers(0, 256, 300)


@pytest.mark.parametrize("groups", [1, 2, 5, 8])
@pytest.mark.parametrize("stalls", [None, stalled("x y")], ids=["free", "stalled"])
def test_narrow_gives_the_lowest_part_first(groups, stalls):
    wide = np.random.default_rng(groups).integers(0, 256, (60, groups), np.uint8)
    sizes = {"WIDTH": 8, "GROUPS": groups}
    simulation = run("narrow", {"x": wide}, wide.size, parameters=sizes, stalls=stalls)
    assert np.array_equal(simulation.outputs["y"], wide.ravel())
    if stalls is None:
        assert simulation.cycles.value == wide.size


def test_narrow_undoes_gather():
    """In both engines, and with the words of one as those of the other."""
    stalls = stalled("x y")
    gathered = both("gather", {"x": WORDS}, 60, parameters={"GROUPS": 5}, stalls=stalls)
    parts = unpack(gathered.outputs["y"], 5, 8).astype(np.uint8)
    sizes = {"WIDTH": 8, "GROUPS": 5}
    simulation = both("narrow", {"x": parts}, 300, parameters=sizes, stalls=stalls)
    assert np.array_equal(simulation.outputs["y"], WORDS)


@pytest.mark.parametrize("depth", [2, 16])
def test_a_large_queue_hands_on_every_word_in_order(depth):
    sizes = {"WIDTH": 8, "DEPTH": depth}
    free = both("block_fifo", {"in": WORDS}, len(WORDS), parameters=sizes)
    assert np.array_equal(free.outputs["out"], WORDS)
    assert free.cycles.value == len(WORDS) + 2
    for seed in range(5):
        stalls = stalled("in out", seed)
        slow = run("block_fifo", {"in": WORDS}, len(WORDS), parameters=sizes, stalls=stalls)
        assert np.array_equal(slow.outputs["out"], WORDS)


def test_how_many_words_a_large_queue_holds():
    """DEPTH in its memory, and one in the register behind it."""
    late = np.array([1] * 100 + [0] * 100)
    sizes = {"WIDTH": 8, "DEPTH": 16}
    simulation = run("block_fifo", {"in": WORDS}, 50, parameters=sizes, stalls={"out": late})
    taken = simulation.trace["in_valid"] & simulation.trace["in_ready"]
    assert taken[:100].sum() == 17
    with pytest.raises(RTLError, match="DEPTH must be a power of two"):
        run("block_fifo", {"in": WORDS}, 1, parameters={"DEPTH": 6})


@pytest.mark.parametrize("stalls", [None, stalled("w y")], ids=["free", "stalled"])
@pytest.mark.parametrize("in_luts", [0, 1])
def test_stored_weights_come_again_and_again(stalls, in_luts):
    sizes = {"WIDTH": 8, "DEPTH": 7, "IN_LUTS": in_luts}
    inputs = {"w": WORDS[:20]}  # more than it has room for: the rest is never taken
    simulation = both("weight_store", inputs, 30, parameters=sizes, stalls=stalls)
    assert np.array_equal(simulation.outputs["y"][:30], np.resize(WORDS[:7], 30))
    taken = simulation.trace["w_valid"] & simulation.trace["w_ready"]
    assert taken.sum() == 7
    if stalls is None:
        assert simulation.times["y"][0] == 7 + 1


@pytest.mark.parametrize("stalls", [None, stalled("b x y")], ids=["free", "stalled"])
def test_each_channel_gets_its_bias(stalls):
    """Sums and biases of both signs, to the ends of int32."""
    rng = np.random.default_rng(5)
    bias = rng.integers(-(2**30), 2**30, 6).astype(np.int32)
    sums = rng.integers(-(2**30), 2**30, (40, 6)).astype(np.int32)
    inputs = {"b": bias.astype(np.uint32), "x": sums.reshape(-1, 2)}
    sizes = {"CHANNELS": 6, "LANES": 2}
    simulation = both("add_bias", inputs, 120, parameters=sizes, stalls=stalls)
    assert np.array_equal(unpack(simulation.outputs["y"], 2, 32).reshape(-1, 6), sums + bias)
    if stalls is None:
        assert simulation.cycles.value == 6 + 120 + 2
    with pytest.raises(RTLError, match="LANES must divide CHANNELS"):
        run("add_bias", inputs, 1, parameters={"CHANNELS": 5, "LANES": 2})
