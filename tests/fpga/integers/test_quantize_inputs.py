"""What `quantize` and its network refuse, one sentence each."""

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga import quantize
from labkit.fpga.integers.quantize_inputs import image_peak

WEIGHTS = convnet.load_weights()
PIXELS = cifar10("sample").train.images[:20]
NORMAL = convnet.normalise(PIXELS)
BROKEN = NORMAL.copy()
BROKEN[3, 1, 2, 2] = np.nan


def changed(name, value):
    return {**WEIGHTS, name: value}


NAN = WEIGHTS["fc1.weight"].copy()
NAN[5, 5] = np.nan
MODELS = {
    "a name is missing": ({"fc2.bias": np.zeros(10)}, "names are"),
    "a shape is wrong": (changed("fc2.bias", np.zeros(9)), r"fc2.bias has shape \(9,\)"),
    "NaN": (changed("fc1.weight", NAN), "fc1.weight holds a number that is not finite"),
    "words": (changed("fc2.bias", np.array(["a"] * 10)), "fc2.bias holds <U1"),
    "an array": (np.zeros(3), "the model is of type ndarray; give it convnet.load_weights"),
    "nothing": (None, "the model is of type NoneType"),
}
IMAGES = {
    "NaN": (BROKEN, "image 3 holds a number that is not finite"),
    "no image": (NORMAL[:0], "at least one image is needed"),
    "colours last": (PIXELS.transpose(0, 2, 3, 1), r"images.transpose\(0, 3, 1, 2\)"),
    "one image": (PIXELS[0], r"one image is a batch of one: images\[None\]"),
    "rows": (NORMAL.reshape(20, -1), r"\[N,3,32,32\] is expected"),
    "a number": (3.0, r"\[N,3,32,32\] is expected"),
    "pixels as integers": (PIXELS.astype(np.int64), "the images hold int64: give uint8 pixels"),
    "pixels as floats": (PIXELS.astype(np.float32), "normalised ones lie between -2 and 2.2"),
    "words": (np.full((1, 3, 32, 32), "a"), "the images hold <U1"),
    "int8": (PIXELS.astype(np.int8), "the images hold int8"),
}


@pytest.fixture(scope="module")
def network():
    return quantize(WEIGHTS, PIXELS)


@pytest.mark.parametrize("case", MODELS)
def test_a_model_that_is_none_is_refused_in_a_sentence(case):
    model, words = MODELS[case]
    with pytest.raises(ValueError, match=f"^quantize: .*{words}"):
        quantize(model, PIXELS)


@pytest.mark.parametrize("case", IMAGES)
def test_images_that_are_none_are_refused_in_a_sentence(case, network):
    images, words = IMAGES[case]
    with pytest.raises(ValueError, match=f"^quantize: .*{words}"):
        quantize(WEIGHTS, images)
    if case == "int8":  # already in steps of the first scale: only calibration cannot use them
        assert network.predict(images).shape == (20,)
        return
    for ask in (network.predict, network.logits, network.activations):
        with pytest.raises(ValueError, match=f"^quantized network: .*{words}"):
            ask(images)


@pytest.mark.parametrize("percentile", [0, -1, 100.1])
def test_a_percentile_that_is_none_is_refused(percentile):
    with pytest.raises(ValueError, match=r"percentile is .*; it lies above 0 and up to 100"):
        quantize(WEIGHTS, PIXELS, percentile)


def test_every_pixel_lies_within_the_peak():
    every = np.arange(256, dtype=np.uint8).reshape(256, 1, 1, 1).repeat(3, axis=1)
    assert np.abs(convnet.normalise(every)).max() == np.float32(image_peak())


def test_nothing_that_was_given_is_changed():
    before = {name: w.copy() for name, w in WEIGHTS.items()}
    images = NORMAL.copy()
    quantize(WEIGHTS, images).predict(images)
    np.testing.assert_array_equal(images, NORMAL)
    for name, w in WEIGHTS.items():
        np.testing.assert_array_equal(w, before[name])
