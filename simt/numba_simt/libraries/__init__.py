"""What Numba's CUDA target brings besides kernels: reductions, ufuncs, generalised ufuncs.

Modules (written by tools/modules.py):

elementwise  Kernels that are written by Python: one thread calls a device function for its
             elements.
gufuncs      `guvectorize` for target='cuda': a function of small arrays, called for each of many of
             them.
reduction    `cuda.reduce`: an array combined to one value by a function of two.
ufuncs       `vectorize` for target='cuda': a function of numbers, called for each element of
             arrays.
"""
