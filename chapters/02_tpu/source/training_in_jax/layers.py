"""The convolution layers of the course's network in JAX, in either order of the axes.

Dense: a step of the mathematics is one line, with all its sizes and axes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax


def conv_relu_pool(x: jax.Array, w: jax.Array, b: jax.Array, order: str = "NCHW") -> jax.Array:
    """max(ReLU(x * w + b)) over 2 x 2 pixels; x and the result have their axes in this order.

    x[N,C,H,W] or [N,H,W,C], w[K,C,3,3], b[K] -> [N,K,H/2,W/2] or [N,H/2,W/2,K]; zeros around x.
    """
    import jax
    from jax import numpy as jnp

    y = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=(order, "OIHW", order))
    channel = order.index("C")
    y = jax.nn.relu(y + jnp.expand_dims(b, [axis for axis in range(4) if axis != channel]))
    window = tuple(2 if axis in "HW" else 1 for axis in order)
    return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, window, window, "VALID")


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """log(sum exp(logits)) - the label's logit: logits[N,K], labels[N] -> losses[N]."""
    import jax
    from jax import numpy as jnp

    of_label = jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]
    return jax.nn.logsumexp(logits, axis=1) - of_label
