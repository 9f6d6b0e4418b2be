"""A training step of ResNet-50 in plain JAX: tools/tpu_snapshot.py asks the TPU compiler about it.

He et al. 2015, "Deep Residual Learning for Image Recognition", arXiv:1512.03385, table 1; the
stride stands in the 3x3 convolution of a block. Lesson
what_a_training_step_costs reads the compiler's answers.
"""

from collections.abc import Callable
from functools import partial

import jax
from jax import lax
from jax import numpy as jnp

from labkit.tpu.programs import conv, pool

CLASSES = 1000


def resnet50(get: Callable, x: jax.Array) -> jax.Array:
    """x[N,224,224,3] to logits[N,1000], in training; `get(name, shape)` gives the weights.

    BatchNorm takes its moments, in float32, of this batch.
    """

    def layer(x: jax.Array, name: str, channels: int, size: int, stride: int = 1) -> jax.Array:
        with jax.named_scope(name):
            w = get(name, (size, size, x.shape[-1], channels)).astype(x.dtype)
            y = conv(x, w, stride).astype(jnp.float32)
            y = (y - y.mean((0, 1, 2))) * lax.rsqrt(y.var((0, 1, 2)) + 1e-5)
            scale, shift = (get(f"{name}.{what}", (channels,)) for what in ("scale", "shift"))
            return (y * scale + shift).astype(x.dtype)

    x = pool(jax.nn.relu(layer(x, "stem", 64, 7, 2)), 3, 2)
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            at = f"stage{stage + 1}.block{block + 1}"
            channels = 64 * 2**stage
            stride = 2 if stage and not block else 1
            y = layer(x, f"{at}.conv1", channels, 1)
            y = layer(jax.nn.relu(y), f"{at}.conv2", channels, 3, stride)
            y = layer(jax.nn.relu(y), f"{at}.conv3", 4 * channels, 1)
            if x.shape != y.shape:
                x = layer(x, f"{at}.shortcut", 4 * channels, 1, stride)
            x = jax.nn.relu(x + y)
    x = x.mean((1, 2))
    with jax.named_scope("fc"):
        w = get("fc", (x.shape[-1], CLASSES)).astype(x.dtype)
        return x @ w + get("fc.bias", (CLASSES,))


def train_step(batch: int) -> tuple[Callable, list]:
    """One step of SGD with momentum, and the shapes to compile it for.

    step(weights, velocities, images, labels) -> weights, velocities, loss; float32 weights.
    """
    shapes: dict[str, tuple] = {}

    def learn(name: str, shape: tuple[int, ...]) -> jax.Array:
        shapes[name] = (shape, "float32")
        return jnp.zeros(shape)

    def loss(weights: dict, images: jax.Array, labels: jax.Array) -> jax.Array:
        logits = resnet50(lambda name, _: weights[name], images)
        logs = jax.nn.log_softmax(logits.astype(jnp.float32))
        return -jnp.take_along_axis(logs, labels[:, None], 1).mean()

    def step(weights: dict, velocities: dict, images: jax.Array, labels: jax.Array) -> tuple:
        value, slopes = jax.value_and_grad(loss)(weights, images, labels)
        velocities = jax.tree.map(lambda v, g: 0.9 * v + g, velocities, slopes)
        return jax.tree.map(lambda w, v: w - 0.1 * v, weights, velocities), velocities, value

    images = jax.ShapeDtypeStruct((batch, 224, 224, 3), jnp.bfloat16)
    jax.eval_shape(partial(resnet50, learn), images)
    step.__name__ = "ResNet-50 step"
    return step, [dict(shapes), dict(shapes), images, ((batch,), "int32")]
