"""layer_runs.py: a layer from image to feature map, also with modules of one's own."""

import numpy as np
import pytest

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.integer_layers import IntegerLayer
from labkit.fpga.integers.packing import unpack
from labkit.fpga.library import library
from labkit_lessons.fpga.a_convolution_as_a_stream import layer_runs
from tests.fpga.circuits.cycles import conv_layer_cycles

LATE = library("line_buffer")[0].read_text("utf-8").replace("words[next]", "words[now]")


@pytest.fixture(scope="module")
def layer():
    rng = np.random.default_rng(0)
    w = rng.integers(-128, 128, (4, 2, 3, 3)).astype(np.int8)
    bias = rng.integers(-900, 900, 4).astype(np.int32)
    multiplier = np.array([300, 500, 700, 900], np.int32)
    return IntegerLayer("small", w, bias, multiplier, 16, 1.0, np.ones(4), 1.0)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).integers(-128, 128, (1, 2, 3, 5)).astype(np.int8)


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_layer_equals_the_golden_model_in_the_cycles_of_the_formula(layer, x, lanes):
    run = layer_runs.conv(layer, x, lanes=lanes)
    assert np.array_equal(run.y, layer(x)[0]) and run.y.any()
    assert run.cycles.value == conv_layer_cycles(2, 4, 3, 5, 2, lanes)


def test_stalls_change_the_cycles_alone(layer, x):
    free, stalled = layer_runs.conv(layer, x), layer_runs.conv(layer, x, stall_share=0.4)
    assert np.array_equal(free.y, stalled.y)
    assert stalled.cycles.value > free.cycles.value


def test_a_module_of_ones_own_takes_part(layer, x):
    run = layer_runs.conv(layer, x, {"line_buffer": LATE})
    assert not np.array_equal(run.y, layer(x)[0])
    with pytest.raises(RTLError):
        layer_runs.conv(layer, x, {"line_buffer": "module line_buffer; endmodule"})


def test_windows_of_a_picture():
    image = np.arange(1, 13).reshape(3, 4)
    run = layer_runs.windows(image, stalls={"window": [0, 1]})
    found = unpack(run.outputs["window"], 9, 8)
    assert found[:, 4].tolist() == list(range(1, 13)), "the centres"
    assert found[0].tolist() == [0, 0, 0, 0, 1, 2, 0, 5, 6]
    late = layer_runs.windows(image, {"line_buffer": LATE})
    assert not np.array_equal(unpack(late.outputs["window"], 9, 8), found)
