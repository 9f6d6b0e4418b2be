"""The host's side of a launch.

Modules (written by tools/modules.py):

arguments        The arguments of a launch: numbers, arrays of the host, arrays in device memory.
arrays           Device memory.
device_function  `@cuda.jit(device=True)`: a function that kernels may call, and what is known of
                 it.
dispatcher       `@jit`, and what lies between `kernel[grid, block](x, y)` and the machine.
grids            How large a grid and a block may be: what is given, checked against CUDA's limits.
"""
