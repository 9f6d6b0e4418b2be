"""Which GPU is here, and why it cannot run our kernels: in a sentence, with what to do about it.

Numba compiles for one version of CUDA, which needs a driver and a GPU that are new enough.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

from labkit.gpu import linker
from labkit.machine_probe import ThisMachine
from numba_simt.extensions import mma, vector

# CUDA's version: its oldest driver, and the oldest GPU that it compiles for. NVIDIA, "CUDA
# Compatibility", table 1, and the release notes of CUDA 12.0 and 13.0.
OLDEST = {12: (525, (5, 0)), 13: (580, (7, 5))}
SIMULATOR = "NUMBA_ENABLE_CUDASIM"
HIDDEN = "CUDA_VISIBLE_DEVICES"


def obstacle(here: ThisMachine) -> str:
    """What keeps numba.cuda from the GPU of this machine, a clause and what to do; "" if nothing.

    Teaches numba.cuda our own functions. Asks the driver, but makes no context on the GPU.
    """
    install = f"Run: pip install --upgrade 'numba-cuda[{_extra(here)}]'."
    if os.environ.get(SIMULATOR, "").strip() not in ("", "0"):
        return f"{SIMULATOR} puts Numba's own simulator in its place. Unset it."
    if find_spec("numba_cuda") is None:
        return f"numba-cuda is not installed. {install}"
    try:
        from numba import cuda

        why = (
            _too_old(cuda, here)
            or _not_started(cuda, install)
            or _too_simple(cuda)
            or _older_than_its_ptx(cuda, here)
        )
        if not why:
            lend_row_stack()
            vector.register()
            mma.register()
        return why
    except Exception as error:  # a broken installation fails in every way there is
        return f"numba-cuda does not work here ({_in_a_line(error)}). {install}"


def lend_row_stack() -> None:
    """Gives numba-cuda what NumPy 2.5 took away, while it loads: up to 0.30 it asks for row_stack.

    Without it, it compiles no kernel at all.
    """
    import numpy as np

    if not hasattr(np, "row_stack"):
        with patch.object(np, "row_stack", lambda arrays: np.vstack(arrays), create=True):
            import_module("numba.cuda.np.arrayobj")


def _extra(here: ThisMachine) -> str:
    """The extra of numba-cuda, and of labkit, that fits the driver."""
    return "cu12" if here.driver and _number(here.driver) < OLDEST[13][0] else "cu13"


def _number(driver: str) -> int:
    """535 of "535.104.05"."""
    return int(driver.partition(".")[0])


def _too_old(cuda: Any, here: ThisMachine) -> str:
    """The driver, for the CUDA that Numba compiles for."""
    compiles, _ = cuda.runtime.get_version()
    needs, _ = OLDEST.get(compiles, (0, ()))
    its = f"its driver {here.driver}".strip()
    try:
        knows = cuda.cudadrv.driver.driver.get_version()
        old = knows[0] < compiles
        its = f"{its}, for CUDA {knows[0]}.{knows[1]},"
    except ImportError:  # CUDA has not started, as under a driver that is far too old
        old = bool(here.driver) and _number(here.driver) < needs
    if not old:
        return ""
    newer = f"driver {needs} or newer" if needs else "a newer driver"
    other = (
        ", or run: pip install 'numba-cuda[cu12]' (labkit's extra cu12)" if compiles > 12 else ""
    )
    why = f"numba-cuda compiles for CUDA {compiles}, which needs {newer}"
    return f"{its} is too old: {why}. Update the driver{other}."


def _not_started(cuda: Any, install: str) -> str:
    """What the driver says if it gives no GPU."""
    if cuda.is_available():
        return ""
    error = cuda.cuda_error()
    if not error:
        return f"NVIDIA's compiler NVVM is missing. {install}"
    hidden = f" {HIDDEN} is {os.environ[HIDDEN]!r}." if HIDDEN in os.environ else ""
    return f"CUDA does not start ({' '.join(error.split()).rstrip('.')}).{hidden}"


def _too_simple(cuda: Any) -> str:
    """The GPU, for the CUDA that Numba compiles for."""
    compiles, _ = cuda.runtime.get_version()
    _, least = OLDEST.get(compiles, (0, ()))
    has = tuple(cuda.gpus[0].compute_capability)
    if has >= least:
        return ""
    said = f"it has compute capability {_version(has)}, but CUDA {compiles} compiles from"
    _, least_for_12 = OLDEST[12]
    do = (
        " Run: pip install 'numba-cuda[cu12]' (labkit's extra cu12)." if has >= least_for_12 else ""
    )
    return f"{said} {_version(least)} on.{do}"


def _older_than_its_ptx(cuda: Any, here: ThisMachine) -> str:
    """Within one major version a driver takes newer machine code, but no newer PTX.

    NVIDIA, "CUDA Compatibility", *Minor Version Compatibility*. Numba hands over machine code
    where nvJitLink makes it.
    """
    compiles = cuda.runtime.get_version()
    knows = cuda.cudadrv.driver.driver.get_version()
    if knows >= compiles or linker.is_here():
        return ""
    its = f"its driver {here.driver}".strip()
    ptx = f"{its} takes PTX of CUDA {_version(knows)}, and Numba makes that of {_version(compiles)}"
    package = f"nvidia-nvjitlink-cu{compiles[0]}" if compiles[0] < 13 else "nvidia-nvjitlink"
    return f"{ptx}. Run: pip install {package} (NVIDIA's linker), or update the driver."


def _version(capability: tuple[int, int]) -> str:
    return ".".join(str(number) for number in capability)


def _in_a_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(":. ")
