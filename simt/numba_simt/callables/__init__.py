"""What a kernel may call, and what compiles it: the middle layers of the compiler.

Modules (written by tools/modules.py):

array_functions   Functions of whole arrays: ufuncs with an array to fill, reductions, methods.
calls             Calls in a kernel: device functions, casts, and all that comes with a name.
closures          Functions that a kernel defines: `def` and `lambda` within it, inlined where they
                  are called.
function_table    Which functions of numbers kernels may call, and for which types: functions.toml,
                  read.
functions         Functions of numbers that kernels may call: of math, cmath, NumPy and numba.cuda.
intrinsics        What kernels use of numba.cuda: positions, shared and local memory, barriers,
                  atomics.
library           Functions of numbers that the SIMT machine computes from simpler ones.
overloads         Functions and methods that a program overloads for kernels: Python in place of
                  their calls.
printing          print() in a kernel, with the formats that Numba's CUDA target has.
python_functions  Python's own functions of numbers in a kernel: abs, min, max, round, int, float,
                  complex, len.
reductions        What NumPy computes of all elements of an array: sums, means, extremes, tests.
vectors           CUDA's vector types (float32x4 and the like), and loads and stores with a hint for
                  the cache.
warps             What the lanes of a warp do together: votes, shuffles, matches, 16-byte accesses,
                  matrices.
"""
