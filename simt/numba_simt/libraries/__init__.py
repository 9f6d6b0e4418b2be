"""What Numba's CUDA target brings besides kernels: reductions, ufuncs, generalised ufuncs."""
