"""What lesson 3 of chapter 2 asks the TPU compiler about: layers and the ConvNet, in plain JAX.

Images are NHWC and bfloat16, as a TPU likes them; weights are HWIO. Nothing here is ever run.
"""

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
            x = pool(x, 2, 2)
    with jax.named_scope("fc1"):
        x = jax.nn.relu(x.reshape(len(x), -1) @ w["fc1.weight"] + w["fc1.bias"])
    with jax.named_scope("fc2"):
        return x @ w["fc2.weight"] + w["fc2.bias"]


CONVNET = {"conv1.weight": (3, 3, 3, 32), "conv1.bias": (32,), "conv2.weight": (3, 3, 32, 64)}
CONVNET |= {"conv2.bias": (64,), "fc1.weight": (4096, 128), "fc1.bias": (128,)}
CONVNET |= {"fc2.weight": (128, 10), "fc2.bias": (10,)}


def pool(x: jax.Array, size: int, stride: int) -> jax.Array:
    """Maxima of size x size windows of x[N,H,W,C], padded so that stride 1 keeps H and W."""
    window, step = (1, size, size, 1), (1, stride, stride, 1)
    return lax.reduce_window(x, -jnp.inf, lax.max, window, step, "SAME")
