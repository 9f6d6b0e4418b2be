"""The host's side of a launch.

Modules (written by tools/modules.py):

arguments        The arguments of a launch: numbers, arrays of the host, arrays in device memory.
arrays           Device memory.
device_function  `@cuda.jit(device=True)`: a function that kernels may call, and what is known of
                 it.
devices          What the host asks of the one device: streams, events, the device itself, and its
                 context.
dispatcher       `@jit`, and what lies between `kernel[grid, block](x, y)` and the machine.
grids            How large a grid and a block may be: what is given, checked against CUDA's limits.
interfaces       Arrays of other libraries, taken as device memory without a copy.
"""
