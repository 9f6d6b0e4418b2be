"""The chapter's networks in Keras: the course's ConvNet, ResNet-20 and ResNet-50.

All take normalised images[N,32,32,3], channels last, as TPUs do, and return logits[N,10] float32.
They build on TensorFlow and, with KERAS_BACKEND=jax, on JAX. `dtype="mixed_bfloat16"` computes in
bfloat16 and keeps weights, BatchNorm's moments and logits in float32.

He et al. 2015, "Deep Residual Learning for Image Recognition", arXiv:1512.03385, describes the two
ResNets. Lesson training_on_a_tpu trains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from labkit.convnet import SHAPES

if TYPE_CHECKING:
    from keras import KerasTensor, Model

IMAGE = (32, 32, 3)
CLASSES = 10
BATCH_NORMS = ("replica", "synchronised", "none")


@contextmanager
def computing_in(dtype: str) -> Iterator[None]:
    """The layers made inside compute in `dtype`, a policy of Keras such as "mixed_bfloat16"."""
    from keras import config

    outside = config.dtype_policy()
    config.set_dtype_policy(dtype)
    try:
        yield
    finally:
        config.set_dtype_policy(outside)


def convnet(weights: dict[str, np.ndarray] | None = None, dtype: str = "float32") -> Model:
    """The course's network of `labkit.convnet`; without weights, Keras's own random ones."""
    from keras import Input, Sequential, layers

    options = {"padding": "same", "activation": "relu"}
    with computing_in(dtype):
        parts = [
            layers.Conv2D(32, 3, name="conv1", **options),
            layers.MaxPooling2D(2, name="pool1"),  # [N,16,16,32]
            layers.Conv2D(64, 3, name="conv2", **options),
            layers.MaxPooling2D(2, name="pool2"),  # [N,8,8,64]
            layers.Flatten(),
            layers.Dense(128, activation="relu", name="fc1"),
            layers.Dense(CLASSES, name="fc2", dtype="float32"),
        ]
    model = Sequential([Input(IMAGE), *parts], name="convnet")
    if weights is not None:
        model.set_weights(channels_last(weights))
    return model


def channels_last(weights: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The course's weights (see `labkit.convnet.SHAPES`) as Keras wants them, in Keras's order.

    Convolutions [K,C,R,S] -> [R,S,C,K]; linear layers [K,D] -> [D,K]; and the 4096 inputs of fc1,
    which count channels, rows, columns there, count rows, columns, channels here.
    """
    ordered = []
    for name in SHAPES:
        w = np.asarray(weights[name], np.float32)
        if name == "fc1.weight":
            by_pixel = w.reshape(128, 64, 8, 8).transpose(0, 2, 3, 1)  # [K,C,H,W] -> [K,H,W,C]
            w = by_pixel.reshape(128, 4096)
        is_convolution = w.ndim == 4
        ordered.append(w.transpose(2, 3, 1, 0) if is_convolution else w.T)
    return ordered


def resnet20(
    batch_norm: str = "replica", width: int = 16, blocks: int = 3, dtype: str = "float32"
) -> Model:
    """ResNet-20 for CIFAR-10: 3 stages of 3 blocks, `width`, 2 and 4 times as many channels.

    Other `blocks` per stage make a ResNet of another depth, 6 blocks + 2: 1 makes ResNet-8.

    Shortcuts that change the shape are 1x1 convolutions. The last BatchNorm of each block starts
    at gamma = 0, so that a fresh block is the identity (Goyal et al. 2017, arXiv:1706.02677).
    batch_norm takes the moments from each replica's share of the batch ("replica"), from the whole
    batch ("synchronised"), or is left out ("none"). On JAX both are of the whole batch.
    Raises ValueError for another batch_norm.
    """
    from keras import Input, Model, layers

    if batch_norm not in BATCH_NORMS:
        raise ValueError(f"batch_norm is {batch_norm!r}; it must be one of {BATCH_NORMS}.")
    with computing_in(dtype):
        image = Input(IMAGE)
        x = layers.ReLU()(_normed_conv(image, batch_norm, width))
        for stage in range(3):
            for block in range(blocks):
                halves = stage > 0 and block == 0  # and has twice the channels of the stage before
                x = _residual_block(x, batch_norm, width * 2**stage, stride=2 if halves else 1)
        x = layers.GlobalAveragePooling2D()(x)
        logits = layers.Dense(CLASSES, dtype="float32")(x)
    return Model(image, logits, name=f"resnet{6 * blocks + 2}")


def _residual_block(x: KerasTensor, batch_norm: str, channels: int, stride: int) -> KerasTensor:
    """ReLU of the shortcut and of two 3x3 convolutions, the first with the stride."""
    from keras import layers

    shortcut = x
    if stride == 2:
        shortcut = _normed_conv(x, batch_norm, channels, size=1, stride=2)
    y = layers.ReLU()(_normed_conv(x, batch_norm, channels, stride=stride))
    y = _normed_conv(y, batch_norm, channels, gamma="zeros")
    return layers.ReLU()(layers.Add()([shortcut, y]))


def _normed_conv(
    x: KerasTensor,
    batch_norm: str,
    channels: int,
    size: int = 3,
    stride: int = 1,
    gamma: str = "ones",
) -> KerasTensor:
    """A convolution, and BatchNorm with its first gamma; or with a bias in BatchNorm's place."""
    from keras import backend, layers

    convolution = layers.Conv2D(
        channels,
        size,
        stride,
        padding="same",
        use_bias=batch_norm == "none",
        kernel_initializer="he_normal",
    )
    y = convolution(x)
    if batch_norm == "none":
        return y
    in_tensorflow = backend.backend() == "tensorflow"
    together = batch_norm == "synchronised" and in_tensorflow
    return layers.BatchNormalization(gamma_initializer=gamma, synchronized=together)(y)


def resnet50(dtype: str = "float32") -> Model:
    """ResNet-50 as for ImageNet, with 10 classes, on CIFAR-10's images enlarged to 224 x 224.

    The images grow on the device, 7 x 7 pixels for each, so that a step costs what a step on
    ImageNet costs, and the input does not. Keras's own network, with random weights.
    """
    from keras import Input, Model, applications, layers

    with computing_in(dtype):
        image = Input(IMAGE)
        large = layers.UpSampling2D(7)(image)  # [N,224,224,3]
        network = applications.ResNet50(
            input_tensor=large, weights=None, classes=CLASSES, classifier_activation=None
        )
    logits = layers.Activation("linear", dtype="float32")(network.output)
    return Model(image, logits, name="resnet50")
