"""The multiply-accumulate unit, the array, and the fully connected layers of the network."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import unpack
from labkit.fpga.integers.words import linear_weight_words
from tests.fpga.circuits.cycles import linear_cycles, mac_array_cycles, mac_cycles
from tests.fpga.circuits.rtl_cases import both, int8, run, stalled


def ends(*packets: int) -> np.ndarray:
    """terms_last of packets of these lengths."""
    last = np.zeros(sum(packets), np.uint8)
    last[np.cumsum(packets) - 1] = 1
    return last


@pytest.mark.parametrize("stalls", [None, stalled("terms y")], ids=["free", "stalled"])
def test_one_unit_sums_each_packet(stalls):
    packets = [1, 1, 7, 100, 2]
    terms = int8(np.random.default_rng(0), sum(packets), 2)
    inputs = {"terms": terms, "terms_last": ends(*packets)}
    simulation = both("mac", inputs, len(packets), stalls=stalls)
    products = terms[:, 0].astype(np.int64) * terms[:, 1]
    starts = np.cumsum([0, *packets[:-1]])
    assert np.array_equal(simulation.outputs["y"], np.add.reduceat(products, starts))
    if stalls is None:
        assert simulation.cycles.value == mac_cycles(sum(packets))


def test_the_sum_has_32_bits():
    """-128 * -128 often enough to fill them: 2^14 * 131,071 is the last one below 2^31."""
    count = 131_071
    terms = np.full((count, 2), -128, np.int8)
    simulation = run("mac", {"terms": terms, "terms_last": ends(count)}, 1, trace=False)
    assert simulation.outputs["y"].tolist() == [count * 2**14]


@pytest.mark.parametrize("stalls", [None, stalled("terms y")], ids=["free", "stalled"])
def test_the_array_sums_in_every_lane(stalls):
    lanes, products, packets = 3, 5, [1, 4, 2, 9]
    rng = np.random.default_rng(1)
    x = int8(rng, sum(packets), products)
    w = int8(rng, sum(packets), lanes, products)
    terms = np.concatenate([x, w.reshape(len(w), -1)], axis=1)
    inputs = {"terms": terms, "terms_last": ends(*packets)}
    sizes = {"LANES": lanes, "PRODUCTS": products}
    simulation = both("mac_array", inputs, len(packets), parameters=sizes, stalls=stalls)
    dots = np.einsum("np,nlp->nl", x.astype(np.int64), w)
    sums = np.add.reduceat(dots, np.cumsum([0, *packets[:-1]]))
    assert np.array_equal(unpack(simulation.outputs["y"], lanes, 32), sums)
    if stalls is None:
        assert simulation.cycles.value == mac_array_cycles(sum(packets), products)


def linear(x, w, lanes, products, run=run, **options):
    """x[N,D] w[K,D] through fully_connected -> y[N,K], and the simulation."""
    (N, D), K = x.shape, len(w)
    weights = np.tile(linear_weight_words(w, lanes, products), (N, 1))
    sizes = {"INPUTS": D, "OUTPUTS": K, "PRODUCTS": products, "LANES": lanes}
    inputs = {"x": x.reshape(-1, products), "w": weights}
    words = N * K // lanes
    simulation = run("fully_connected", inputs, words, parameters=sizes, **options)
    return unpack(simulation.outputs["y"], lanes, 32).reshape(N, K), simulation


@pytest.mark.parametrize("stalls", [None, stalled("x w y")], ids=["free", "stalled"])
def test_both_engines_agree_on_a_small_layer(stalls):
    rng = np.random.default_rng(2)
    x, w = int8(rng, 3, 6), int8(rng, 6, 6)
    y, simulation = linear(x, w, 3, 2, run=both, stalls=stalls)
    assert np.array_equal(y, x.astype(np.int64) @ w.T)
    if stalls is None:
        assert simulation.cycles.value == linear_cycles(6, 6, 2, 3, images=3)


# fc1 with the 8 weights of a 64-bit word for one input, fc2 with those of 4 inputs and 2 outputs.
@pytest.mark.parametrize(("D", "K", "lanes", "products"), [(4096, 128, 8, 1), (128, 10, 2, 4)])
def test_ten_random_layers_of_the_network(D, K, lanes, products):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, w = int8(rng, 1, D), int8(rng, K, D)
        stalls = stalled("x w y", seed) if seed % 2 else None
        y, simulation = linear(x, w, lanes, products, stalls=stalls, trace=False)
        assert np.array_equal(y, x.astype(np.int64) @ w.T)
        if stalls is None:
            assert simulation.cycles.value == linear_cycles(D, K, products, lanes)


def test_lanes_that_do_not_divide_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(RTLError, match="LANES must divide OUTPUTS"):
        sizes = {"INPUTS": 4, "OUTPUTS": 6, "LANES": 4}
        run("fully_connected", {"x": int8(rng, 4, 1), "w": int8(rng, 6, 4)}, 1, parameters=sizes)
