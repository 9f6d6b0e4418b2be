"""The GPU room: CUDA kernels on any machine.

`cuda` is `numba.cuda` on a machine with a CUDA GPU; elsewhere it is the SIMT machine, with the same
API. `profile` runs a kernel on the SIMT machine on every machine, and counts.
"""

from importlib import import_module

_HOMES = {
    "cuda": "cuda",
    "profile": "profiler",
    "compile_report": "compiler",
    "occupancy": "occupancy_limits",
    "mma_m16n8k16": "mma",
    "load_float32x4": "vector",
    "store_float32x4": "vector",
    "load_uint32x4": "vector",
    "store_uint32x4": "vector",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.gpu has no {name!r}; it has {', '.join(_HOMES)}.")
    found = import_module(f"{__name__}.{_HOMES[name]}")
    return found if name == "cuda" else getattr(found, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
