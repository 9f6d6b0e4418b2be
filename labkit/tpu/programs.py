"""Programs for the TPU compiler, in plain JAX: layers and the course's network.

The lessons of chapter 2 ask `compile_for_tpu` about them. Images are NHWC and bfloat16, as a TPU
likes them; weights are HWIO. Nothing here is ever run. Dense, since each is a
formula of one line or two.
"""

from math import prod

import jax
from jax import lax
from jax import numpy as jnp

CONVNET = {  # the shapes of the network's weights
    "conv1.weight": (3, 3, 3, 32),
    "conv1.bias": (32,),
    "conv2.weight": (3, 3, 32, 64),
    "conv2.bias": (64,),
    "fc1.weight": (4096, 128),
    "fc1.bias": (128,),
    "fc2.weight": (128, 10),
    "fc2.bias": (10,),
}

LAYERS = {  # the shapes of input and weights, 256 images at a time, and of a product beside them
    "conv1": [(256, 32, 32, 3), (3, 3, 3, 32)],
    "conv2": [(256, 16, 16, 32), (3, 3, 32, 64)],
    "fc1": [(256, 4096), (4096, 128)],
    "fc2": [(256, 128), (128, 10)],
    "square": [(1024, 1024), (1024, 1024)],
}


def product_sizes(x: tuple[int, ...], w: tuple[int, ...]) -> tuple[int, int, int]:
    """M, K, N of the matrix product that a layer is, from the shapes of its input and weights.

    A fully connected layer is x[M,K] w[K,N]. A convolution of x[N,H,W,C] with w[R,S,C,K], padded so
    that H and W stay, has a row for each pixel, R S C weights to each of its K results.
    """
    *places, _ = x
    *window, outputs = w
    return prod(places), prod(window), outputs


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    """a[M,K] b[K,N] -> [M,N]"""
    return a @ b


def conv(x: jax.Array, w: jax.Array, stride: int = 1) -> jax.Array:
    """Cross-correlation of x[N,H,W,C] with w[R,S,C,K], padded so that stride 1 keeps H and W."""
    layout = ("NHWC", "HWIO", "NHWC")
    strides = (stride, stride)
    return lax.conv_general_dilated(
        x,
        w,
        strides,
        "SAME",
        dimension_numbers=layout,
    )


def pool(x: jax.Array, size: int, stride: int) -> jax.Array:
    """Maxima of size x size windows of x[N,H,W,C], padded so that stride 1 keeps H and W."""
    window = (1, size, size, 1)
    strides = (1, stride, stride, 1)
    return lax.reduce_window(
        x,
        -jnp.inf,
        lax.max,
        window,
        strides,
        "SAME",
    )


def convnet(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """The course's network, x[N,32,32,3] to logits[N,10]; weights as CONVNET gives their shapes."""
    with jax.named_scope("conv1"):
        x = jax.nn.relu(conv(x, w["conv1.weight"]) + w["conv1.bias"])
    with jax.named_scope("pool1"):
        x = pool(x, 2, 2)  # [N,16,16,32]
    with jax.named_scope("conv2"):
        x = jax.nn.relu(conv(x, w["conv2.weight"]) + w["conv2.bias"])
    with jax.named_scope("pool2"):
        x = pool(x, 2, 2)  # [N,8,8,64]
    with jax.named_scope("fc1"):
        x = x.reshape(len(x), -1)
        x = jax.nn.relu(x @ w["fc1.weight"] + w["fc1.bias"])
    with jax.named_scope("fc2"):
        return x @ w["fc2.weight"] + w["fc2.bias"]


def convnet_loss(w: dict[str, jax.Array], x: jax.Array, label: jax.Array) -> jax.Array:
    """The network's mean cross-entropy for images x[N,32,32,3] of classes label[N]."""
    scores = jax.nn.log_softmax(convnet(w, x))  # [N, 10]
    return -scores[jnp.arange(len(x)), label].mean()


def collatz(n: jax.Array) -> jax.Array:
    """Halve even numbers, make 3 n + 1 of odd ones, until all have come down to 1."""

    def not_yet(n: jax.Array) -> jax.Array:
        return (n > 1).any()

    def step(n: jax.Array) -> jax.Array:
        unfinished = n > 1
        following = jnp.where(n % 2 == 1, 3 * n + 1, n // 2)
        return jnp.where(unfinished, following, n)

    return lax.while_loop(not_yet, step, n)
