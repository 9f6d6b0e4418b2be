"""The streaming convolution: windows, the network's two layers bit by bit, cycles, pooling."""

from dataclasses import dataclass

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga import cycle_formulas as formulas
from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import unpack
from labkit.fpga.integers.words import conv_weight_words, feature_maps, parameter_words, pixel_words
from labkit.fpga.quantize import quantize
from tests.fpga.circuits.cycles import conv_cycles, conv_layer_cycles, maxpool_cycles
from tests.fpga.circuits.rtl_cases import both, conv, int8, parameters, requantized, run, stalled


@dataclass(frozen=True)
class Shape:
    """A layer's shape and its two knobs, in the letters of labkit.reference."""

    C: int
    K: int
    H: int
    W: int
    channel_lanes: int
    lanes: int

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "HEIGHT": self.H,
            "WIDTH": self.W,
            "IN_CHANNELS": self.C,
            "OUT_CHANNELS": self.K,
            "CHANNEL_LANES": self.channel_lanes,
            "LANES": self.lanes,
        }

    @property
    def numbers(self) -> tuple[int, ...]:
        return (self.C, self.K, self.H, self.W, self.channel_lanes, self.lanes)

    def draw(self, rng, images=1):
        return int8(rng, images, self.C, self.H, self.W), int8(rng, self.K, self.C, 3, 3)


LAYERS = {"conv1": Shape(3, 32, 32, 32, 3, 1), "conv2": Shape(32, 64, 16, 16, 8, 2)}
SMALL = Shape(2, 4, 3, 5, 1, 2)


def layer(shape, x, w, bias, multiplier, shift, run=run, **options):
    """x[N,C,H,W] through conv_layer -> y[N,K,H,W], and the simulation."""
    inputs = {
        "shift": shift,
        "w": conv_weight_words(w, shape.lanes, shape.channel_lanes),
        "p": parameter_words(bias, multiplier),
        "x": pixel_words(x),
    }
    words = len(x) * shape.H * shape.W * shape.K // shape.lanes
    simulation = run("conv_layer", inputs, words, parameters=shape.sizes, **options)
    y = feature_maps(simulation.outputs["y"], shape.K, shape.H, shape.W, shape.lanes)
    return y, simulation


def sums(shape, x, w, **options):
    """x[N,C,H,W] through conv3x3 -> int32 y[N,K,H,W], and the simulation."""
    weights = conv_weight_words(w, shape.lanes, shape.channel_lanes)
    inputs = {"w": weights, "x": pixel_words(x)}
    words = len(x) * shape.H * shape.W * shape.K // shape.lanes
    simulation = run("conv3x3", inputs, words, parameters=shape.sizes, **options)
    y = feature_maps(simulation.outputs["y"], shape.K, shape.H, shape.W, shape.lanes, bits=32)
    return y, simulation


def windows(x):
    """x[N,C,H,W] -> [N*H*W, 9*C]: the windows with a border of zeros, tap by tap."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    return views.transpose(0, 2, 3, 4, 5, 1).reshape(-1, 9 * x.shape[1])


@pytest.mark.parametrize("stalls", [None, stalled("x window")], ids=["free", "stalled"])
def test_windows_have_a_border_of_zeros(stalls):
    """Two images, so that the first one's rows would show in the second one's border."""
    N, C, H, W = 2, 2, 4, 6
    x = int8(np.random.default_rng(0), N, C, H, W)
    sizes = {"HEIGHT": H, "WIDTH": W, "PIXEL_BITS": 8 * C}
    inputs = {"x": pixel_words(x)}
    simulation = both("window_3x3", inputs, N * H * W, parameters=sizes, stalls=stalls)
    assert np.array_equal(unpack(simulation.outputs["window"], 9 * C, 8), windows(x))
    if stalls is None:
        assert simulation.cycles.value == formulas.window_cycles(H, W, N)


@pytest.mark.parametrize("until", range(18, 30, 3))
def test_a_reset_in_the_middle_of_an_image_leaves_nothing_of_it(until):
    """The line buffers still hold its rows: none of them may show above the next image."""
    C, H, W = 2, 4, 6
    x = int8(np.random.default_rng(until), 1, C, H, W)
    lost = int8(np.random.default_rng(0), until, C)  # more than are taken before the reset ends
    sizes = {"HEIGHT": H, "WIDTH": W, "PIXEL_BITS": 8 * C}
    reset = np.zeros(400, int)
    reset[[0, 1, until]] = 1

    def go(words):
        options = {"cycles": 120, "parameters": sizes}
        return run("window_3x3", {"x": words, "rst": reset}, None, **options)

    trial = go(np.concatenate([lost, lost])).trace
    before = int((trial["x_valid"] & trial["x_ready"])[: until + 1].sum())
    simulation = go(np.concatenate([lost[:before], pixel_words(x)]))
    after = simulation.outputs["window"][simulation.times["window"] > until]
    assert np.array_equal(unpack(after, 9 * C, 8), windows(x))


@pytest.mark.parametrize("stalls", [None, stalled("w p x y")], ids=["free", "stalled"])
def test_both_engines_agree_on_a_small_layer(stalls):
    rng = np.random.default_rng(1)
    x, w = SMALL.draw(rng, images=3)
    bias, multiplier, _ = parameters(rng, SMALL.K)
    y, simulation = layer(SMALL, x, w, bias, multiplier, 25, run=both, stalls=stalls)
    assert np.array_equal(y, requantized(conv(x, w), bias, multiplier, 25, low=0))
    if stalls is None:
        assert simulation.cycles.value == conv_layer_cycles(*SMALL.numbers, images=3)


@pytest.mark.parametrize("name", LAYERS)
def test_ten_random_layers_of_the_network(name):
    """Every other one under stalls; weights and inputs over all of int8."""
    shape = LAYERS[name]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x, w = shape.draw(rng)
        bias, multiplier, shift = parameters(rng, shape.K)
        stalls = stalled("w p x y", seed) if seed % 2 else None
        y, simulation = layer(shape, x, w, bias, multiplier, shift, stalls=stalls, trace=False)
        assert np.array_equal(y, requantized(conv(x, w), bias, multiplier, shift, low=0))
        assert len(np.unique(y)) > 50
        if stalls is None:
            assert simulation.cycles.value == conv_layer_cycles(*shape.numbers)


@pytest.fixture(scope="module")
def network():
    """The course's network in int8, and two real images in it."""
    data = cifar10()
    quantized = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:100]))
    return quantized, quantized.activations(data.test.images[:2])


@pytest.mark.parametrize(("name", "before"), [("conv1", "image"), ("conv2", "pool1")])
def test_the_real_layers_equal_the_golden_model(network, name, before):
    quantized, activations = network
    golden = quantized.layer(name)
    arrays = (golden.weights, golden.bias, golden.multiplier, golden.shift)
    for stalls in (None, stalled("w p x y")):
        y, _ = layer(LAYERS[name], activations[before], *arrays, stalls=stalls, trace=False)
        assert np.array_equal(y, activations[name.replace("conv", "relu")])


def test_the_largest_sums_fit():
    """conv2 with -128 everywhere: 288 products of 2^14 inside; a bias leaves 100 of them."""
    shape = LAYERS["conv2"]
    x = np.full((1, shape.C, shape.H, shape.W), -128, np.int8)
    w = np.full((shape.K, shape.C, 3, 3), -128, np.int8)
    bias = np.full(shape.K, 100 - 288 * 2**14, np.int32)
    as_it_is = np.full(shape.K, 2**15, np.int32)
    y, _ = layer(shape, x, w, bias, as_it_is, 15, trace=False)
    assert (y[:, :, 1:-1, 1:-1] == 100).all()
    assert (y[:, :, 0] == 0).all()


def test_the_convolution_alone_hands_on_its_sums():
    x, w = SMALL.draw(np.random.default_rng(2), images=2)
    for stalls in (None, stalled("w x y")):
        y, simulation = sums(SMALL, x, w, stalls=stalls)
        assert np.array_equal(y, conv(x, w))
        if stalls is None:
            assert simulation.cycles.value == conv_cycles(*SMALL.numbers, images=2)


def test_no_pixel_is_taken_before_the_weights_are_there():
    x, w = SMALL.draw(np.random.default_rng(2))
    all_but_one = conv_weight_words(w, SMALL.lanes, SMALL.channel_lanes)[:-1]
    inputs = {"w": all_but_one, "x": pixel_words(x)}
    waiting = run("conv3x3", inputs, None, cycles=300, parameters=SMALL.sizes)
    assert not waiting.trace["x_ready"].any()
    assert not waiting.trace["y_valid"].any()


@pytest.mark.parametrize(
    ("knob", "sentence"),
    [
        ({"LANES": 3}, "LANES must divide OUT_CHANNELS"),
        ({"IN_CHANNELS": 3, "CHANNEL_LANES": 2}, "CHANNEL_LANES must divide IN_CHANNELS"),
    ],
)
def test_knobs_that_do_not_divide_are_refused(knob, sentence):
    with pytest.raises(RTLError, match=sentence):
        run("conv3x3", {"w": [], "x": []}, 1, parameters=SMALL.sizes | knob)


@pytest.mark.parametrize("lanes", [2, 3, 6])  # 3, 2 and 1 words for a pixel
@pytest.mark.parametrize("stalls", [None, stalled("x y")], ids=["free", "stalled"])
def test_pooling_keeps_the_largest_of_four(stalls, lanes):
    N, C, H, W = 2, 6, 4, 6
    x = int8(np.random.default_rng(4), N, C, H, W)
    sizes = {"HEIGHT": H, "WIDTH": W, "GROUPS": C // lanes, "LANES": lanes}
    words = pixel_words(x).reshape(-1, lanes)
    simulation = both("maxpool2x2", {"x": words}, len(words) // 4, parameters=sizes, stalls=stalls)
    pooled = x.reshape(N, C, H // 2, 2, W // 2, 2).max(axis=(3, 5))
    assert np.array_equal(feature_maps(simulation.outputs["y"], C, H // 2, W // 2, lanes), pooled)
    if stalls is None:
        assert simulation.cycles.value == maxpool_cycles(H, W, C // lanes, N)


def test_pooling_refuses_odd_sides():
    with pytest.raises(RTLError, match="HEIGHT and WIDTH must be even"):
        run("maxpool2x2", {"x": []}, 1, parameters={"WIDTH": 7})
