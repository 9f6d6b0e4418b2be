"""What a kernel may call, and what compiles it: the middle layers of the compiler.

function_table    functions of numbers by type      python_functions  Python's own of numbers
library           those made of simpler ones        intrinsics        of numba.cuda: threads, memory
functions         of math, cmath, NumPy, CUDA       warps             of all lanes of a warp
calls             finds out what is called
"""
