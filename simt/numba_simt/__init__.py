"""CUDA kernels under `@cuda.jit`, run and counted without a GPU: README.md tells how.

`cuda` is a module with the names of `numba.cuda`; `profile` launches a kernel, and counts.
"""

from numba_simt.profiling.profiler import profile

__all__ = ["__version__", "profile"]
__version__ = "0.1.0"
