"""The chapter's networks in Keras: the course's ConvNet, ResNet-20 and ResNet-50.

All take normalised images[N,32,32,3], channels last, as TPUs do, and return logits[N,10] float32.
They build on TensorFlow and, with KERAS_BACKEND=jax, on JAX. `dtype="mixed_bfloat16"` computes in
bfloat16 and keeps weights, BatchNorm's moments and logits in float32.

He et al. 2015, "Deep Residual Learning for Image Recognition", arXiv:1512.03385, describes the two
ResNets. Lesson 4 of the TPU chapter trains them.
"""

from typing import TYPE_CHECKING

import numpy as np

from labkit.convnet import SHAPES

if TYPE_CHECKING:
    import keras

IMAGE, CLASSES = (32, 32, 3), 10
BATCH_NORMS = ("replica", "synchronised", "none")


def convnet(
    weights: dict[str, np.ndarray] | None = None, dtype: str = "float32"
) -> "keras.Sequential":
    """The course's network of `labkit.convnet`; without weights, Keras's own random ones."""
    from keras import Input, Sequential, layers

    def conv(name: str, channels: int) -> "keras.Layer":
        return layers.Conv2D(channels, 3, padding="same", activation="relu", name=name, dtype=dtype)

    model = Sequential(
        [
            Input(IMAGE),
            conv("conv1", 32),
            layers.MaxPooling2D(2, name="pool1", dtype=dtype),  # [N,16,16,32]
            conv("conv2", 64),
            layers.MaxPooling2D(2, name="pool2", dtype=dtype),  # [N,8,8,64]
            layers.Flatten(dtype=dtype),
            layers.Dense(128, activation="relu", name="fc1", dtype=dtype),
            layers.Dense(CLASSES, name="fc2", dtype="float32"),
        ],
        name="convnet",
    )
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
) -> "keras.Model":
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
    normed = batch_norm != "none"

    def conv(x: "keras.KerasTensor", channels: int, size: int = 3, stride: int = 1, gamma: int = 1):
        options = {"padding": "same", "use_bias": not normed, "dtype": dtype}
        x = layers.Conv2D(channels, size, stride, kernel_initializer="he_normal", **options)(x)
        if not normed:
            return x
        norm = {"gamma_initializer": "ones" if gamma else "zeros", "dtype": dtype}
        norm["synchronized"] = batch_norm == "synchronised" and backend.backend() == "tensorflow"
        return layers.BatchNormalization(**norm)(x)

    def relu(x: "keras.KerasTensor") -> "keras.KerasTensor":
        return layers.ReLU(dtype=dtype)(x)

    image = Input(IMAGE)
    x = relu(conv(image, width))
    for stage in range(3):
        channels = width * 2**stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            shortcut = conv(x, channels, 1, stride) if stride == 2 else x
            y = conv(relu(conv(x, channels, 3, stride)), channels, gamma=0)
            x = relu(layers.Add(dtype=dtype)([shortcut, y]))
    x = layers.GlobalAveragePooling2D(dtype=dtype)(x)
    return Model(image, layers.Dense(CLASSES, dtype="float32")(x), name=f"resnet{6 * blocks + 2}")


def resnet50(dtype: str = "float32") -> "keras.Model":
    """ResNet-50 as for ImageNet, with 10 classes, on CIFAR-10's images enlarged to 224 x 224.

    The images grow on the device, 7 x 7 pixels for each, so that a step costs what a step on
    ImageNet costs, and the input does not. Keras's own network, with random weights.
    """
    import keras

    outside = keras.config.dtype_policy()
    keras.config.set_dtype_policy(dtype)
    try:
        options = {"weights": None, "classes": CLASSES, "classifier_activation": None}
        image = keras.Input(IMAGE)
        large = keras.layers.UpSampling2D(7)(image)  # [N,224,224,3]
        logits = keras.applications.ResNet50(input_tensor=large, **options).output
        logits = keras.layers.Activation("linear", dtype="float32")(logits)
        return keras.Model(image, logits, name="resnet50")
    finally:
        keras.config.set_dtype_policy(outside)
