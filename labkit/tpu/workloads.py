"""What lesson 3 of chapter 2 asks the TPU compiler about: layers and training steps, in plain JAX.

Images are NHWC and bfloat16, as a TPU likes them; weights are HWIO. Nothing here is ever run.
"""

from collections.abc import Callable
from functools import partial

import jax
from jax import lax
from jax import numpy as jnp


def matmul(a: jax.Array, b: jax.Array) -> jax.Array:
    """a[M,K] b[K,N]"""
    return a @ b


def conv(x: jax.Array, w: jax.Array, stride: int = 1) -> jax.Array:
    """Cross-correlation of x[N,H,W,C] with w[R,S,C,K], padded so that stride 1 keeps H and W."""
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=layout)


def convnet(w: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """The course's network, x[N,32,32,3] to logits[N,10]; weights as CONVNET gives their shapes."""
    for name in ("conv1", "conv2"):
        with jax.named_scope(name):
            x = jax.nn.relu(conv(x, w[f"{name}.weight"]) + w[f"{name}.bias"])
        with jax.named_scope(name.replace("conv", "pool")):
            x = _pool(x, 2, 2)
    with jax.named_scope("fc1"):
        x = jax.nn.relu(x.reshape(len(x), -1) @ w["fc1.weight"] + w["fc1.bias"])
    with jax.named_scope("fc2"):
        return x @ w["fc2.weight"] + w["fc2.bias"]


CONVNET = {"conv1.weight": (3, 3, 3, 32), "conv1.bias": (32,), "conv2.weight": (3, 3, 32, 64)}
CONVNET |= {"conv2.bias": (64,), "fc1.weight": (4096, 128), "fc1.bias": (128,)}
CONVNET |= {"fc2.weight": (128, 10), "fc2.bias": (10,)}


def _pool(x: jax.Array, size: int, stride: int) -> jax.Array:
    window, step = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, step, "SAME")


def resnet(get: Callable, x: jax.Array, name: str) -> jax.Array:
    """ResNet-20 (He et al. 2015, section 4.2) or ResNet-50 (table 1) in training: logits.

    `get(name, shape)` gives the weights. BatchNorm takes its moments, in float32, of this batch.
    """
    large = name == "ResNet-50"
    width, classes = (64, 1000) if large else (16, 10)

    def layer(x: jax.Array, name: str, channels: int, size: int, stride: int = 1) -> jax.Array:
        with jax.named_scope(name):
            w = get(name, (size, size, x.shape[-1], channels)).astype(x.dtype)
            y = conv(x, w, stride).astype(jnp.float32)
            y = (y - y.mean((0, 1, 2))) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5)
            scale, shift = (get(f"{name}.{what}", (channels,)) for what in ("scale", "shift"))
            return (y * scale + shift).astype(x.dtype)

    x = jax.nn.relu(layer(x, "stem", width, 7 if large else 3, 2 if large else 1))
    x = _pool(x, 3, 2) if large else x
    for stage, blocks in enumerate((3, 4, 6, 3) if large else (3, 3, 3)):
        for block in range(blocks):
            at, channels = f"stage{stage + 1}.block{block + 1}", width * 2**stage
            stride = 2 if stage and not block else 1
            y = layer(x, f"{at}.conv1", channels, *((1, 1) if large else (3, stride)))
            y = layer(jax.nn.relu(y), f"{at}.conv2", channels, 3, stride if large else 1)
            if large:
                y = layer(jax.nn.relu(y), f"{at}.conv3", 4 * channels, 1)
            if x.shape != y.shape:
                x = layer(x, f"{at}.shortcut", y.shape[-1], 1, stride)
            x = jax.nn.relu(x + y)
    x = x.mean((1, 2))
    with jax.named_scope("fc"):
        return x @ get("fc", (x.shape[-1], classes)).astype(x.dtype) + get("fc.bias", (classes,))


def train_step(name: str, batch: int) -> tuple[Callable, list]:
    """One step of SGD with momentum on ResNet-20 or ResNet-50, and the shapes to compile it for.

    step(weights, velocities, images, labels) -> weights, velocities, loss; float32 weights.
    """
    shapes: dict[str, tuple] = {}
    side = 224 if name == "ResNet-50" else 32

    def learn(name: str, shape: tuple[int, ...]) -> jax.Array:
        shapes[name] = (shape, "float32")
        return jnp.zeros(shape)

    def loss(weights: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
        logits = resnet(lambda name, _: weights[name], images, name)
        logs = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()

    def step(weights: dict, velocities: dict, images: jax.Array, labels: jax.Array) -> tuple:
        value, slopes = jax.value_and_grad(loss)(weights, images, labels)
        velocities = jax.tree.map(lambda v, g: 0.9 * v + g, velocities, slopes)
        return jax.tree.map(lambda w, v: w - 0.1 * v, weights, velocities), velocities, value

    images = jax.ShapeDtypeStruct((batch, side, side, 3), jnp.bfloat16)
    jax.eval_shape(partial(resnet, learn, name=name), images)
    step.__name__ = f"{name} step"
    return step, [dict(shapes), dict(shapes), images, ((batch,), "int32")]
