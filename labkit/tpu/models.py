"""The chapter's networks in Keras: the course's ConvNet, ResNet-20 and ResNet-50.

All take normalised images[N,32,32,3], channels last, as TPUs do, and return logits[N,10] float32.
They build on TensorFlow and, with KERAS_BACKEND=jax, on JAX. `dtype="mixed_bfloat16"` computes in
bfloat16 and keeps weights, BatchNorm's moments and logits in float32.

He et al. 2015, "Deep Residual Learning for Image Recognition", arXiv:1512.03385, describes the two
ResNets. Lesson 4 of the TPU chapter trains them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from labkit.convnet import SHAPES

if TYPE_CHECKING:
    from keras import KerasTensor, Model

IMAGE, CLASSES = (32, 32, 3), 10
BATCH_NORMS = ("replica", "synchronised", "none")


@contextmanager
def computing_in(dtype: str) -> Iterator[None]:
    """The layers made inside compute in `dtype`."""
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
    w = {name: np.asarray(weights[name], np.float32) for name in SHAPES}
    fc1 = w["fc1.weight"].reshape(128, 64, 8, 8).transpose(0, 2, 3, 1)  # [K,C,H,W] -> [K,H,W,C]
    w["fc1.weight"] = fc1.reshape(128, 4096)
    return [v.transpose(2, 3, 1, 0) if v.ndim == 4 else v.T for v in w.values()]


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
    from keras import Input, Model, backend, layers

    if batch_norm not in BATCH_NORMS:
        raise ValueError(f"batch_norm is {batch_norm!r}; it must be one of {BATCH_NORMS}.")
    normed, in_tensorflow = batch_norm != "none", backend.backend() == "tensorflow"
    options = {"padding": "same", "use_bias": not normed, "kernel_initializer": "he_normal"}
    norm = {"synchronized": batch_norm == "synchronised" and in_tensorflow}

    def conv(x: KerasTensor, channels: int, size: int = 3, stride: int = 1, gamma: str = "ones"):
        x = layers.Conv2D(channels, size, stride, **options)(x)
        return layers.BatchNormalization(gamma_initializer=gamma, **norm)(x) if normed else x

    with computing_in(dtype):
        image = Input(IMAGE)
        x = layers.ReLU()(conv(image, width))
        for stage in range(3):
            channels = width * 2**stage
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                shortcut = conv(x, channels, 1, stride) if stride == 2 else x
                y = layers.ReLU()(conv(x, channels, 3, stride))
                x = layers.ReLU()(layers.Add()([shortcut, conv(y, channels, gamma="zeros")]))
        x = layers.GlobalAveragePooling2D()(x)
        logits = layers.Dense(CLASSES, dtype="float32")(x)
    return Model(image, logits, name=f"resnet{6 * blocks + 2}")


def resnet50(dtype: str = "float32") -> Model:
    """ResNet-50 as for ImageNet, with 10 classes, on CIFAR-10's images enlarged to 224 x 224.

    The images grow on the device, 7 x 7 pixels for each, so that a step costs what a step on
    ImageNet costs, and the input does not. Keras's own network, with random weights.
    """
    from keras import Input, Model, applications, layers

    options = {"weights": None, "classes": CLASSES, "classifier_activation": None}
    with computing_in(dtype):
        image = Input(IMAGE)
        large = layers.UpSampling2D(7)(image)  # [N,224,224,3]
        logits = applications.ResNet50(input_tensor=large, **options).output
    return Model(image, layers.Activation("linear", dtype="float32")(logits), name="resnet50")
