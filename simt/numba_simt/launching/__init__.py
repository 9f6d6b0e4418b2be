"""The host's side of a launch.

dispatcher       jit, kernels, launches        arguments  numbers and arrays, as Numba types them
device_function  what kernels call             arrays     device memory
grids            how large a launch may be
"""
