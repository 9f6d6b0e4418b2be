"""A tiled matrix product in Pallas: its grid, blocks and memory, and the step of a dense layer.

Lessons a_kernel_of_your_own and what_fits_in_vmem.

Dense: a call of Pallas says grid, blocks and memory in one place.
"""

from collections.abc import Callable
from typing import Any

from labkit.tpu.tracing import quiet_jax

SCHEDULE = ("parallel", "parallel", "arbitrary")  # k is gone through in order


def block_indices(i: int, j: int, k: int) -> tuple:
    """Which blocks of x, w and y the step (i, j, k) works on."""
    return (i, k), (k, j), (i, j)


def layer_step(mask: Callable[[Any, Any, Any], tuple] | None = None) -> Callable:
    """The step of y = relu(x @ w + b) for `tiled(..., bias=True)`; its sum is float32.

    mask   mask(x, w, k) -> both blocks of step k, with 0 beyond K; None where bk divides K
    """
    from jax import numpy as jnp
    from jax.experimental import pallas as pl

    def step(x: Any, w: Any, b: Any, y: Any, total: Any) -> None:
        k = pl.program_id(2)

        @pl.when(k == 0)
        def begin() -> None:
            total[...] = jnp.zeros_like(total)

        factors = x[...], w[...]
        if mask is not None:
            factors = mask(*factors, k)
        total[...] += jnp.dot(*factors, preferred_element_type=jnp.float32)

        @pl.when(k == pl.num_programs(2) - 1)
        def store() -> None:
            y[...] = jnp.maximum(total[...] + b[...], 0).astype(y.dtype)

    return step


def tiled(
    step: Callable,
    blocks: tuple[int, int, int],
    *,
    bias: bool = False,
    indices: Callable[[Any, Any, Any], tuple] = block_indices,
    interpret: Any = False,
) -> Callable:
    """The function matmul(x[M, K], w[K, N]) -> y[M, N], of x's type, that runs `step` on a grid.

    blocks     (bm, bk, bn): x in blocks [bm, bk], w [bk, bn], y [bm, bn]
    step       step(x, w, y, total) on references to blocks; total[bm, bn] is float32, in VMEM,
               and is kept from step to step. With `bias` it is step(x, w, b, y, total), and the
               function is matmul(x, w, b[1, N]), b in blocks [1, bn]
    indices    indices(i, j, k) -> the blocks of x, w and y that a step works on
    interpret  True or pltpu.InterpretParams(...): on this machine; False: on a TPU

    The grid has ceil(M/bm) * ceil(N/bn) * ceil(K/bk) steps, k the fastest.
    """
    quiet_jax()
    import jax
    from jax import numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    bm, bk, bn = blocks

    def matmul(x: Any, w: Any, *b: Any) -> Any:
        (m, depth), n = x.shape, w.shape[1]
        in_specs = [
            pl.BlockSpec((bm, bk), lambda i, j, k: indices(i, j, k)[0]),
            pl.BlockSpec((bk, bn), lambda i, j, k: indices(i, j, k)[1]),
        ]
        if bias:
            in_specs.append(pl.BlockSpec((1, bn), lambda i, j, k: (0, j)))
        return pl.pallas_call(
            step,
            grid=(pl.cdiv(m, bm), pl.cdiv(n, bn), pl.cdiv(depth, bk)),
            in_specs=in_specs,
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, k: indices(i, j, k)[2]),
            out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
            scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)],
            compiler_params=pltpu.CompilerParams(dimension_semantics=SCHEDULE),
            interpret=interpret,
        )(x, w, *b)

    def fused(x: Any, w: Any, b: Any) -> Any:
        return matmul(x, w, b)

    def plain(x: Any, w: Any) -> Any:
        return matmul(x, w)

    chosen = fused if bias else plain
    chosen.__name__ = "matmul"
    return chosen
