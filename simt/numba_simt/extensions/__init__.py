"""Functions for kernels that Numba has not: for a GPU, too, once it is taught them.

Modules (written by tools/modules.py):

mma     The tensor core's multiply-add, which Numba cannot write, as a function for kernels.
vector  Sixteen bytes in one access: what Numba cannot write, as functions for kernels.
"""
