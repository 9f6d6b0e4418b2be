"""A kernel with copies of its own, run by Pallas' second interpreter; and the layer for XLA."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from labkit.tpu.tracing import quiet_jax


def layer(x: Any, w: Any, b: Any) -> Any:
    """relu(x w + b) in x's type, as plain JAX: XLA writes the kernel."""
    import jax
    from jax import numpy as jnp

    product = jnp.dot(x, w, preferred_element_type=jnp.float32)
    return jax.nn.relu(product + b).astype(x.dtype)


def run(kernel: Callable, **how: Any) -> tuple[int, str]:
    """kernel(x, y, block, arrived) on x[8, 128] in HBM: how many of y are 2 x, and the race found.

    y and `block` lie in VMEM, `arrived` is a semaphore for a copy; `how` is for
    pltpu.InterpretParams. Without a race, or without looking for one, the second is "".
    """
    quiet_jax()
    import jax
    import numpy as np
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    x = np.arange(8 * 128, dtype=np.float32).reshape(8, 128)
    call = pl.pallas_call(
        kernel,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), pltpu.SemaphoreType.DMA],
        interpret=pltpu.InterpretParams(**how),
    )
    printed = io.StringIO()
    with redirect_stdout(printed):
        y = np.asarray(call(x))
    return int((y == 2 * x).sum()), _race(printed.getvalue())


def _race(said: str) -> str:
    """ "RACE DETECTED: read of vmem, write of vmem", without what differs from run to run."""
    kinds = re.findall(r"(read|write) of \('(\w+)'", said)
    found = ", ".join(f"{kind} of {place}" for kind, place in kinds[:2])
    return f"RACE DETECTED: {found}" if "RACE DETECTED" in said else ""
