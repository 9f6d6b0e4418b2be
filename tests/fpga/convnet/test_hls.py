"""hls.py: what is stored of hls4ml's C simulation, and that it was made from our data."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from labkit import convnet
from labkit.fpga.convnet import hls


@pytest.fixture(scope="module")
def exact():
    """conv1 and ReLU of the image in float32."""
    weights, pixels = hls.given()
    return convnet.activations(weights, pixels[None])["relu1"][0]


def test_the_log_is_of_our_weights_our_image_and_these_formats():
    weights, pixels = hls.given()
    log = hls.log()
    assert log["image"] == hls.digest(pixels)
    assert log["weights"] == hls.digest(weights["conv1.weight"])
    assert list(log["formats"]) == list(hls.FORMATS)
    for name, numbers in hls.FORMATS.items():
        assert {
            key: list(v) if isinstance(v, tuple) else v for key, v in asdict(numbers).items()
        } == (log["formats"][name])


@pytest.mark.parametrize("name", hls.FORMATS)
def test_outputs_are_whole_steps_near_the_real_layer(name, exact):
    y, step = hls.outputs()[name], hls.FORMATS[name].step
    assert y.shape == hls.OUTPUT
    assert np.array_equal(y / step, np.rint(y / step)) and y.min() == 0
    assert np.abs(y - exact).mean() < 2 * step, "no axis is swapped"
    assert len(np.unique(y)) > 60


def test_more_bits_and_rounding_come_nearer(exact):
    cut, rounded, wide = (np.abs(y - exact).mean() for y in hls.outputs().values())
    assert wide < rounded < cut


def test_the_rounded_outputs_of_a_corner_follow_from_the_format(exact):
    """The first pixel by hand: products of numbers in their formats, rounded once at the end."""
    numbers = hls.FORMATS["hls4ml, 8 bits, rounded"]
    weights, pixels = hls.given()

    def fixed(x, bits, whole):
        step = 2.0 ** (whole - bits)
        limit = 2 ** (bits - 1)
        return np.clip(np.floor(x / step + 0.5), -limit, limit - 1) * step

    w = fixed(weights["conv1.weight"].astype(float), *numbers.weights)
    b = fixed(weights["conv1.bias"].astype(float), *numbers.bias)
    x = fixed(pixels.astype(float), *numbers.pixels)
    sums = np.einsum("kcrs,crs->k", w[:, :, 1:, 1:], x[:, :2, :2]) + b
    expected = fixed(np.maximum(sums, 0), *numbers.outputs)
    assert np.array_equal(hls.outputs()["hls4ml, 8 bits, rounded"][:, 0, 0], expected)


def test_types_as_hls4ml_writes_them():
    numbers = hls.FORMATS["hls4ml, 8 bits, rounded"]
    assert numbers.type("pixels") == "fixed<8,3,RND,SAT>"
    assert replace(numbers, rounded=False).type("outputs") == "fixed<8,4>"
    assert numbers.step == 1 / 16


def test_in_steps_rounds_half_up_and_clips():
    y = np.array([0, 0.49, 0.5, 1.5, 500])
    assert hls.in_steps(y, 1.0).tolist() == [0, 0, 1, 2, 127]


def test_what_is_written_can_be_read(tmp_path, monkeypatch):
    steps = {name: np.full(hls.OUTPUT, n, np.int16) for n, name in enumerate(hls.FORMATS)}
    hls.write(tmp_path, steps)
    monkeypatch.setattr(hls, "DATA", tmp_path)
    found = hls.outputs.__wrapped__()
    assert [float(y.max()) for y in found.values()] == [0, 1 / 16, 2 / 1024]
    hls.write(tmp_path, steps)
    damaged = (tmp_path / hls.LOG).read_text("utf-8").replace('"outputs": {"', '"outputs": {"x')
    (tmp_path / hls.LOG).write_text(damaged, "utf-8")
    with pytest.raises((ValueError, KeyError)):
        hls.outputs.__wrapped__()
