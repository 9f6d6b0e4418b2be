"""The GPU room: CUDA kernels on any machine.

`cuda` is `numba.cuda` on a machine with a CUDA GPU; elsewhere it is the SIMT machine, with the same
API. `profile` runs a kernel on the SIMT machine on every machine, and counts.
"""

from importlib import import_module

_HOMES = {
    "cuda": "labkit.gpu.cuda",
    "profile": "labkit.gpu.profiler:profile",
    "compile_report": "labkit.gpu.compiler:compile_report",
    "occupancy": "labkit.gpu.multiprocessor:occupancy",
    "load_float32x4": "labkit.gpu.vector:load_float32x4",
    "store_float32x4": "labkit.gpu.vector:store_float32x4",
    "load_uint32x4": "labkit.gpu.vector:load_uint32x4",
    "store_uint32x4": "labkit.gpu.vector:store_uint32x4",
    "mma_m16n8k16": "labkit.gpu.mma:mma_m16n8k16",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.gpu has no {name!r}; it has {', '.join(_HOMES)}.")
    module, _, attribute = _HOMES[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
