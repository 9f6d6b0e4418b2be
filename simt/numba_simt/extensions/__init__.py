"""Functions for kernels that Numba has not: for a GPU, too, once it is taught them.

vector    16 bytes in one access    mma   the tensor core's multiply-add
"""
