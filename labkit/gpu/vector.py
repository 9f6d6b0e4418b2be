"""Four float32 in one access: what Numba cannot write, as functions for kernels.

A GPU moves at most 16 bytes per lane and instruction. `load_float32x4(a, i)` reads `a[i:i+4]` of a
contiguous float32 array; `store_float32x4(a, i, x, y, z, w)` writes it. The address must be a
multiple of 16 bytes.
"""


def load_float32x4(array: object, index: int) -> tuple[float, float, float, float]:
    """a[i], a[i+1], a[i+2], a[i+3] in one request; in a kernel only."""
    raise _host("load_float32x4")


def store_float32x4(array: object, index: int, x: float, y: float, z: float, w: float) -> None:
    """a[i:i+4] = x, y, z, w in one request; in a kernel only."""
    raise _host("store_float32x4")


def _host(name: str) -> Exception:
    from labkit.gpu.simt.hazards import KernelError

    return KernelError(f"{name} works inside a kernel only: call it from a @cuda.jit function.")
