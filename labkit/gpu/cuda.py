"""`labkit.gpu.cuda`: `numba.cuda` where there is a CUDA GPU, the SIMT machine elsewhere.

Only this module and `labkit.gpu.compiler` import numba-cuda. `LABKIT_CUDA=simt` asks for the SIMT
machine on a machine with a GPU; `LABKIT_CUDA=gpu` refuses to do without one.
"""

import os
import sys
from types import ModuleType

from labkit.gpu import mma, vector


def _choose(wish: str | None = os.environ.get("LABKIT_CUDA")) -> ModuleType:
    from labkit.gpu.simt import api

    if wish not in (None, "", "simt", "gpu"):
        raise ValueError(f"LABKIT_CUDA is {wish!r}; it may be simt, gpu, or not set.")
    if wish == "simt":
        return api
    gpu = _gpu()
    if gpu is None and wish == "gpu":
        raise RuntimeError(
            "LABKIT_CUDA=gpu, but no CUDA GPU can be used here. `labkit doctor` says what is "
            "missing; without the variable the SIMT machine runs the kernels."
        )
    return gpu or api


def _gpu() -> ModuleType | None:
    from labkit.hardware import this_machine

    if not this_machine().gpus:  # so that a laptop never waits for numba-cuda
        return None
    try:
        from numba import cuda
    except ImportError:
        return None
    if not cuda.is_available():
        return None
    vector.register()
    mma.register()
    return cuda


# Whoever imports this module gets the chosen one in its place.
sys.modules[__name__] = _choose()
