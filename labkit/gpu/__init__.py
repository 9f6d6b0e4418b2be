"""The GPU room: CUDA kernels on any machine.

`cuda` is `numba.cuda` on a machine with a CUDA GPU; elsewhere it is the SIMT machine, with the same
API. `profile` runs a kernel on the SIMT machine on every machine, and counts.

Modules (written by tools/modules.py):

compiled_kernel   What the compiler made of a kernel: the `CompileReport`, and what Numba hides of
                  its costs.
compiler          What NVIDIA's compiler makes of a kernel; no GPU is needed.
cuda              `labkit.gpu.cuda`: `numba.cuda` where there is a CUDA GPU, the SIMT machine
                  elsewhere.
device            Which GPU is here, and why it cannot run our kernels: in a sentence, with what to
                  do about it.
judging/          Exercises whose answer is a kernel: its cases, its result, and what it may cost.
kernels/          Kernels that a network is made of, each readable beside its formula, with its
                  NumPy oracle.
ladder            The matmul ladder as a whole: what its kernels count, and tables of it.
ladder_speeds     How fast the matmul ladder is: as predicted, as published, and as measured on this
                  machine.
linker            NVIDIA's linker, which makes machine code of PTX: nvJitLink, by its binding
                  `cuda.bindings`.
occupancy_limits  Occupancy: how many blocks of a kernel one multiprocessor (SM) holds at a time,
                  and why no more.
pictures          Pictures of a launch: who touches which cell, a warp's sectors, the banks, a
                  block's tiles.
profiler          `profile(kernel, grid, block, *args)`: numba_simt's, with numbers that say who
                  counted them.
ptx               PTX, the assembly of GPUs: its instructions with their source lines, and costs
                  seen in them.
report/           What a GPU says of this course: `python -m labkit.gpu.report`, or `make
                  gpu-report`.
step_cost         What a training step costs: the memory it keeps, its time at the roofline, the bus
                  to the GPU.
tile_pictures     Pictures of a tiled matrix product: what a tile, a block and a thread read of both
                  matrices.
touched           What the threads of a launch touch: cells of an array, sectors of global memory,
                  shared banks.
training/         Training in PyTorch with our kernels: layers, steps of SGD, batches that come
                  beside them.
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
