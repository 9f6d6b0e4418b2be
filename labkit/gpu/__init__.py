"""The GPU room: CUDA kernels on any machine.

`cuda` is `numba.cuda` on a machine with a CUDA GPU; elsewhere it is the SIMT machine, with the same
API. `profile` runs a kernel on the SIMT machine on every machine, and counts.
"""

import os
from importlib import import_module

if chosen := os.environ.get("LABKIT_CACHE"):  # for the SIMT machine, too
    os.environ.setdefault("NUMBA_SIMT_CACHE", chosen)

_HOMES = {
    "cuda": "labkit.gpu.cuda",
    "profile": "labkit.gpu.profiler",
    "compile_report": "labkit.gpu.compiler",
    "occupancy": "labkit.gpu.occupancy_limits",
    "mma_m16n8k16": "numba_simt.extensions.mma",
    "load_float32x4": "numba_simt.extensions.vector",
    "store_float32x4": "numba_simt.extensions.vector",
    "load_uint32x4": "numba_simt.extensions.vector",
    "store_uint32x4": "numba_simt.extensions.vector",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.gpu has no {name!r}; it has {', '.join(_HOMES)}.")
    found = import_module(_HOMES[name])
    return found if name == "cuda" else getattr(found, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
