"""The solutions of lesson 02_tpu/3_the_tpu_compiler. Written by `labkit build` from

chapters/02_tpu/source/3_the_tpu_compiler.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

from math import prod


def padded_bytes(shape, order, tile, itemsize):
    """sizes of the axes, axes from fastest to slowest, tile such as (8, 128), B -> bytes"""
    size = list(shape)
    for i, n in enumerate(tile[::-1]):
        axis = order[i]
        size[axis] = -(-size[axis] // n) * n
    return int(prod(size)) * itemsize


def mxu_utilization(M, K, N, cycles, units, size):
    """M, K, N, cycles [n] of products -> utilization [n], filled [n], both from 0 to 1"""
    utilization = M * K * N / (cycles * units * size**2)
    rows, columns = (-(-side // size) * size for side in (K, N))
    filled = K * N / (rows * columns)
    return utilization, filled


def throughput(cycles, batch, devices, clock):
    """cycles [n] of a step's operations, images of one device, devices, Hz -> images per second"""
    seconds = cycles.sum() / clock
    return devices * batch / seconds


SOLUTIONS = {
    "tpu.padded_bytes": padded_bytes,
    "tpu.mxu_utilization": mxu_utilization,
    "tpu.throughput": throughput,
}
