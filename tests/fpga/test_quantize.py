"""`quantize`: integers from end to end, rebuilt by other means, and as right as the float network.

The cheapest cheats: to predict with the float weights (refused by rebuilding every logit from the
integers alone, by perturbing the float model afterwards, and by changing an integer); to round the
float result at the end (refused by comparing every tensor on the way); to look at the test images
(the log names what chose the percentile).
"""

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from labkit import convnet
from labkit.cifar10_files import read_copy
from labkit.datasets import cifar10
from labkit.fpga import quantize
from labkit.fpga.integers.calibration import PERCENTILE
from labkit.fpga.quantize import QuantizedConvNet

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import quantize_convnet as tool

WEIGHTS = convnet.load_weights()
SAMPLE = cifar10("sample")
IMAGES = SAMPLE.test.images[:40]


@pytest.fixture(scope="module")
def quantized():
    """The network of the log: calibrated on the sample's first 500 training images."""
    return quantize(WEIGHTS, SAMPLE.train.images[: tool.CALIBRATION])


@pytest.fixture(scope="module")
def log():
    lines = convnet.TRAINED.with_name(tool.LOG).read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


# --- as right as the float network


def test_int8_is_within_a_point_of_float32_on_the_500_shipped_images(quantized):
    guesses = quantized.predict(SAMPLE.test.images)
    assert guesses.shape == (500,) and guesses.dtype == np.int64
    right = int((guesses == SAMPLE.test.labels).sum())
    assert abs(right - 401) <= 5


def test_the_logits_times_their_scale_are_close_to_the_float_networks(quantized):
    exact = convnet.forward(WEIGHTS, convnet.normalise(IMAGES))
    close = quantized.logits(IMAGES) * quantized.scales["logits"]
    assert np.abs(close - exact).mean() < 0.02 * np.abs(exact).mean() + 0.1
    assert np.corrcoef(close.ravel(), exact.ravel())[0, 1] > 0.995


def test_every_tensor_is_close_to_the_float_networks_at_its_scale(quantized):
    exact = convnet.activations(WEIGHTS, convnet.normalise(IMAGES))
    seen = quantized.activations(IMAGES)
    assert list(seen) == list(exact)
    for name, scale in quantized.scales.items():
        if name in seen:
            off = np.abs(seen[name] * scale - exact[name])
            assert off.mean() < scale, name


# --- integers, and nothing else


def test_every_tensor_is_an_integer_of_the_right_width(quantized):
    sums = {"conv1", "conv2", "fc1", "fc2"}
    for name, tensor in quantized.activations(IMAGES[:2]).items():
        assert tensor.dtype == (np.int32 if name in sums else np.int8), name
        if "relu" in name or "pool" in name or name == "flat":
            assert tensor.min() >= 0
    for name, tensor in quantized.weights.items():
        assert tensor.dtype == (np.int32 if name.endswith("bias") else np.int8)
        assert tensor.shape == convnet.SHAPES[name]
        assert name.endswith("bias") or np.abs(tensor.astype(int)).max() <= 127


def test_the_network_rebuilt_in_float64_from_its_integers_is_equal_bit_for_bit(quantized):
    """PyTorch in float64: products and sums stay below 2^53, so each of them is exact."""
    x = torch.tensor(quantized.to_int8(IMAGES)).double()
    expected = {"image": x}
    for layer in quantized.layers:
        w, b = torch.tensor(layer.weights).double(), torch.tensor(layer.bias).double()
        conv = layer.name.startswith("conv")
        x = functional.conv2d(x, w, b, padding=1) if conv else functional.linear(x, w, b)
        expected[layer.name] = x
        if layer.name == "fc2":
            break
        m = torch.tensor(layer.multiplier).double().reshape(-1, *[1] * (x.ndim - 2))
        x = torch.floor((x * m + 2.0 ** (layer.shift - 1)) / 2.0**layer.shift).clamp(0, 127)
        expected[{"conv1": "relu1", "conv2": "relu2", "fc1": "relu3"}[layer.name]] = x
        if conv:
            x = functional.max_pool2d(x, 2)
        if layer.name == "conv2":
            x = x.flatten(1)
    seen = quantized.activations(IMAGES)
    for name, tensor in expected.items():
        np.testing.assert_array_equal(seen[name], tensor.numpy(), err_msg=name)
    np.testing.assert_array_equal(quantized.logits(IMAGES), seen["fc2"])
    np.testing.assert_array_equal(quantized.predict(IMAGES), seen["fc2"].argmax(1))


def test_the_last_layers_are_pythons_integers(quantized):
    seen = {name: tensor[0].tolist() for name, tensor in quantized.activations(IMAGES[:1]).items()}
    fc1, fc2 = quantized.layers[2:]
    hidden = []
    for row, bias, m in zip(fc1.weights.tolist(), fc1.bias.tolist(), fc1.multiplier.tolist()):  # noqa: B905
        acc = bias + sum(w * x for w, x in zip(row, seen["flat"], strict=True))
        hidden.append(min(max((acc * m + (1 << (fc1.shift - 1))) >> fc1.shift, 0), 127))
    assert hidden == seen["relu3"]
    logits = []
    for row, bias in zip(fc2.weights.tolist(), fc2.bias.tolist(), strict=True):
        logits.append(bias + sum(w * x for w, x in zip(row, hidden, strict=True)))
    assert logits == seen["fc2"]


def test_the_float_model_does_not_matter_once_it_is_quantised():
    weights = {name: w.copy() for name, w in WEIGHTS.items()}
    network = quantize(weights, IMAGES)
    before = network.logits(IMAGES)
    for w in weights.values():
        w[...] = np.nan
    np.testing.assert_array_equal(network.logits(IMAGES), before)


def test_an_integer_that_is_changed_changes_the_answer(quantized):
    *others, last = quantized.layers
    turned = replace(last, weights=last.weights[::-1], bias=last.bias[::-1])
    other = QuantizedConvNet([*others, turned])
    np.testing.assert_array_equal(other.logits(IMAGES), quantized.logits(IMAGES)[:, ::-1])


def test_its_arrays_cannot_be_written_to(quantized):
    for array in quantized.weights.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


# --- what the integers stand for


def test_an_integer_times_its_scale_is_within_half_a_step_of_the_weight(quantized):
    for layer in quantized.layers:
        w, b = WEIGHTS[f"{layer.name}.weight"], WEIGHTS[f"{layer.name}.bias"]
        scale = quantized.scales[f"{layer.name}.weight"]
        assert scale.shape == (len(w),)
        per_channel = scale.reshape(-1, *[1] * (w.ndim - 1))
        assert (np.abs(layer.weights * per_channel - w) <= per_channel * 0.5000001).all()
        step = layer.input_scale * scale
        assert (np.abs(layer.bias * step - b) <= step * 0.5000001).all()
        if layer.output_scale is not None:
            ratio = step / layer.output_scale
            assert np.abs(layer.multiplier / 2**layer.shift - ratio).max() <= 2.0 ** -(
                layer.shift + 1
            )
            per_row = np.abs(layer.weights.reshape(len(w), -1).astype(int)).max(axis=1)
            assert (per_row == 127).all()  # a scale for each output channel uses all of them


def test_the_last_layer_has_one_scale_since_its_sums_are_compared(quantized):
    last = quantized.layer("fc2")
    assert len(set(last.weight_scale.tolist())) == 1
    assert last.multiplier is last.shift is last.output_scale is None
    with pytest.raises(ValueError, match="fc2 is the last layer"):
        last(np.zeros((1, 128), np.int8))
    with pytest.raises(KeyError, match="no layer 'fc3'"):
        quantized.layer("fc3")


def test_layers_hand_their_scales_on(quantized):
    for before, after in zip(quantized.layers, quantized.layers[1:], strict=False):
        assert before.output_scale == after.input_scale


# --- what else may be given


def test_pixels_normalised_images_and_int8_images_are_the_same(quantized):
    pixels, floats = quantized.to_int8(IMAGES), quantized.to_int8(convnet.normalise(IMAGES))
    np.testing.assert_array_equal(pixels, floats)
    np.testing.assert_array_equal(quantized.logits(pixels), quantized.logits(IMAGES))
    a, b = quantize(WEIGHTS, IMAGES), quantize(WEIGHTS, convnet.normalise(IMAGES))
    assert tool.digest(a) == tool.digest(b)


def test_a_pytorch_module_is_taken():
    network = quantize(convnet.torch_model(WEIGHTS), IMAGES)
    assert tool.digest(network) == tool.digest(quantize(WEIGHTS, IMAGES))


def test_more_images_than_a_batch_are_predicted_in_order(quantized):
    many = np.concatenate([IMAGES] * 3)
    np.testing.assert_array_equal(quantized.logits(many)[80:], quantized.logits(IMAGES))


def test_a_channel_of_zeros_gives_its_bias():
    weights = {name: w.copy() for name, w in WEIGHTS.items()}
    weights["conv1.weight"][4] = 0
    weights["conv1.bias"][4] = 0.7
    weights["conv2.weight"][9] = 0
    weights["conv2.bias"][9] = 0
    network = quantize(weights, IMAGES)
    seen = network.activations(IMAGES[:2])
    constant = seen["relu1"][:, 4] * network.scales["relu1"]
    assert np.abs(constant - 0.7).max() <= network.scales["relu1"] / 2
    assert not seen["conv2"][:, 9].any()
    assert (network.predict(IMAGES) == quantize(WEIGHTS, IMAGES).predict(IMAGES)).mean() > 0.5


def test_a_model_of_zeros_gives_zeros():
    zeros = {name: np.zeros(shape, np.float32) for name, shape in convnet.SHAPES.items()}
    assert not quantize(zeros, IMAGES[:2]).logits(IMAGES[:2]).any()


# --- the log of the full set


def test_the_log_is_of_these_weights_these_integers_and_the_full_set(quantized, log):
    run, *_, result = log
    assert run["weights_sha256"] == hashlib.sha256(convnet.TRAINED.read_bytes()).hexdigest()
    assert run["data"] == "full" and run["test_images"] == 10_000
    assert result["sha256"] == tool.digest(quantized)
    assert "/" not in json.dumps(log)


def test_the_log_says_within_a_point_on_the_10000(log):
    trained = json.loads(
        convnet.TRAINED.with_name("convnet.log.jsonl").read_text("utf-8").splitlines()[-1]
    )
    result = log[-1]
    assert abs(result["float32_test_images_right"] - trained["test_accuracy"] * 10_000) <= 3
    assert abs(result["test_images_right"] - result["float32_test_images_right"]) <= 100


def test_data_md_says_what_the_log_says(log):
    page = " ".join((Path(tool.__file__).parents[1] / "DATA.md").read_text("utf-8").split())
    int8, float32 = log[-1]["test_images_right"], log[-1]["float32_test_images_right"]
    assert f"{int8:,} of the 10,000 test images, the float32 one on {float32:,}" in page
    assert f"what {log[0]['calibration_images']} training images show" in page
    assert f"by {log[0]['judged_on_training_images']:,} other training images" in page


def test_training_images_chose_the_percentile(log):
    run, *tried, result = log
    assert run["judged_on_training_images"] == tool.JUDGES
    best = max(tried, key=lambda record: record["training_images_right"])
    assert best["percentile"] == result["percentile"] == PERCENTILE
    assert [record["percentile"] for record in tried] == list(tool.PERCENTILES)


def test_the_logged_accuracy_is_that_of_the_full_test_set(quantized, log):
    """A minute of integer products: only where somebody asks for it."""
    copy = os.environ.get("LABKIT_FULL_CIFAR10")
    if not copy:
        pytest.skip("LABKIT_FULL_CIFAR10 names no full CIFAR-10")
    _, test = read_copy(copy)
    assert tool.right_by_int8(quantized, test) == log[-1]["test_images_right"]
