"""The networks in Keras against the course's own in NumPy, and against the papers' numbers."""

from importlib.util import find_spec

import numpy as np
import pytest

from labkit import convnet
from labkit.datasets import cifar10
from labkit.tpu import device, models

pytestmark = pytest.mark.skipif(not find_spec("tensorflow"), reason="TensorFlow is not installed")


@pytest.fixture(scope="module", autouse=True)
def _devices():
    device.strategy(1)  # before any model starts TensorFlow


def pictures(count):
    images = convnet.normalise(cifar10("sample").test.images[:count])
    return images, images.transpose(0, 2, 3, 1)


def test_the_convnet_computes_what_the_reference_computes():
    weights = convnet.load_weights()
    first, last = pictures(20)
    got = models.convnet(weights)(last).numpy()
    np.testing.assert_allclose(got, convnet.forward(weights, first), atol=1e-4)


def test_the_convnet_in_bfloat16_is_near_but_not_the_same():
    weights = convnet.load_weights()
    _, x = pictures(50)
    exact = models.convnet(weights)(x).numpy()
    model = models.convnet(weights, dtype="mixed_bfloat16")
    got = model(x).numpy()
    assert got.dtype == np.float32 and all(w.dtype == "float32" for w in model.weights)
    assert 1e-4 < np.abs(got - exact).max() < 0.05 * np.abs(exact).max()


def test_resnet20_has_the_paper_s_layers():
    model = models.resnet20("none")
    kinds = [type(layer).__name__ for layer in model.layers]
    # 1 + 3 stages x 3 blocks x 2 convolutions, a linear layer; and two 1x1 shortcuts.
    assert kinds.count("Conv2D") == 19 + 2 and kinds.count("Dense") == 1
    assert models.resnet20("none", width=8).count_params() < model.count_params() / 3
    norms = [v for v in models.resnet20().layers if type(v).__name__ == "BatchNormalization"]
    assert len(norms) == 21 and not any(v.synchronized for v in norms)
    assert [(v.gamma.numpy() == 0).all() for v in norms].count(True) == 9


def test_synchronised_norms_and_a_wrong_one():
    norms = [v for v in models.resnet20("synchronised").layers if hasattr(v, "synchronized")]
    assert norms and all(v.synchronized for v in norms)
    with pytest.raises(ValueError, match="batch_norm is 'batch'; it must be one of"):
        models.resnet20("batch")


def test_resnet50_has_the_published_number_of_parameters():
    import keras

    model = models.resnet50("mixed_bfloat16")
    # 25,557,032 with 1000 classes, besides BatchNorm's moments: the linear layer is 2048 x classes.
    trainable = sum(int(np.prod(w.shape)) for w in model.trainable_weights)
    biases = sum(w.shape[0] for w in model.trainable_weights if w.path.endswith("conv/bias"))
    assert trainable - biases == 25_557_032 - 2049 * 990
    assert model.output_shape == (None, 10) and model.compute_dtype is not None
    assert keras.config.dtype_policy().name == "float32"  # as it was before
