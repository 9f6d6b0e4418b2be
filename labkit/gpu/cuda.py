"""`labkit.gpu.cuda`: `numba.cuda` where there is a CUDA GPU, the SIMT machine elsewhere.

Only this module, `labkit.gpu.device` and `labkit.gpu.compiler` import numba-cuda.
`LABKIT_CUDA=simt` asks for the SIMT machine on a machine with a GPU; `LABKIT_CUDA=gpu` refuses to
do without one. A GPU that cannot be used is not passed over in silence: a line on stderr says why.
"""

import os
import sys
from types import ModuleType


def _choose(wish: str | None = os.environ.get("LABKIT_CUDA")) -> ModuleType:
    from numba_simt import cuda as api

    if wish not in (None, "", "simt", "gpu"):
        raise ValueError(f"LABKIT_CUDA is {wish!r}; it may be simt, gpu, or not set.")
    if wish == "simt":
        return api
    name, why = _gpu()
    if name and not why:
        from numba import cuda

        return cuda
    if wish == "gpu":
        said = f"the {name} cannot run kernels: {why}" if name else "there is no CUDA GPU here."
        raise RuntimeError(
            f"LABKIT_CUDA=gpu, but {said} Without the variable the SIMT machine runs them."
        )
    if why:
        said = f"Kernels run on the SIMT machine, not on the {name}: {why}"
        print(said, "(LABKIT_CUDA=simt asks for it without this line.)", file=sys.stderr)
    return api


def _gpu() -> tuple[str, str]:
    """The GPU's name, and what keeps kernels from it; "" for none."""
    from labkit.hardware import this_machine

    here = this_machine()
    if not here.gpus:  # so that a laptop never waits for numba-cuda
        return "", ""
    from labkit.gpu.device import obstacle

    return " and ".join(here.gpus), obstacle(here)


# Whoever imports this module gets the chosen one in its place.
sys.modules[__name__] = _choose()
