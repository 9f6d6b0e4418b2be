"""Calibration: peaks against a plain sort, scales against their definition."""

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga.integers import calibration
from labkit.fpga.integers.calibration import in_steps, peaks, scale_of, to_int8, weight_scales


@pytest.fixture(scope="module")
def images():
    return convnet.normalise(cifar10("sample").train.images[:30])


@pytest.mark.parametrize("percentile", [100, 99.99, 99.9, 97.3, 50])
def test_a_peak_is_a_place_in_the_sorted_values(percentile, images, monkeypatch):
    monkeypatch.setattr(calibration, "BATCH", 7)  # 30 is no multiple of it
    weights = convnet.load_weights()
    found = peaks(weights, images, percentile)
    exact = convnet.activations(weights, images)
    for name, peak in found.items():
        in_order = np.sort(exact[name].ravel())
        may_lie_above = int(len(in_order) * (1 - percentile / 100))
        assert peak == pytest.approx(in_order[-1 - may_lie_above], rel=1e-12)
    if percentile == 100:
        assert found["relu1"] == pytest.approx(exact["relu1"].max(), rel=1e-12)


def test_the_tensors_are_those_of_the_network(images):
    exact = convnet.activations(convnet.init(), images[:1])
    assert {name: exact[name].shape[1:] for name in calibration.TENSORS} == calibration.TENSORS


def test_a_scale_uses_all_127_steps():
    assert scale_of(12.7) == pytest.approx(0.1)
    assert scale_of(0.0) == 1.0


def test_weight_scales_are_a_channels_own():
    w = np.array([[1.27, -0.5], [0.1, -12.7], [0, 0]])
    np.testing.assert_allclose(weight_scales(w, np.zeros(3), 0.1), [0.01, 0.1, 1.0])


def test_a_bias_beside_tiny_weights_stays_an_int32():
    w = np.array([[1e-30, 0], [0, 0]])
    b = np.array([1.0, -3.0])
    scales = weight_scales(w, b, 0.5)
    np.testing.assert_allclose(np.abs(b) / (0.5 * scales), 2**24)


def test_rounding_is_to_the_nearest_and_a_half_upwards():
    assert in_steps([-0.25, -0.15, 0.05, 0.25, 0.249], 0.1).tolist() == [-2, -1, 1, 3, 2]
    got = to_int8([-99, -12.7, 0.04, 12.7, 99], 0.1)
    assert got.dtype == np.int8 and got.tolist() == [-127, -127, 0, 127, 127]
