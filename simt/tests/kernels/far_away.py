"""Device functions that stand in another file than the kernels that call them."""

from numba_simt import cuda


@cuda.jit(device=True)
def total(x, t):
    if t > 3:
        cuda.syncthreads()
    return x + 1


@cuda.jit(device=True)
def unknown(x):
    return nowhere(x)  # noqa: F821
