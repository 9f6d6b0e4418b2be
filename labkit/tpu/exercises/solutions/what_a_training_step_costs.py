"""The solutions of lesson 02_tpu/4_what_a_training_step_costs. Written by `labkit build` from

chapters/02_tpu/source/4_what_a_training_step_costs.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def critical_batch(K, N, peak, bandwidth, itemsize):
    """K [n], N [n], FLOP/s, B/s, bytes of a number -> images [n], not rounded"""
    ridge = peak / bandwidth  # FLOP for each byte, = 2 / itemsize / (1/B + 1/K + 1/N)
    left = 2 / (itemsize * ridge) - 1 / K - 1 / N
    return np.where(left > 0, 1 / left, np.inf)


def throughput(cycles, batch, devices, clock):
    """cycles [n] of a step's operations, images on each device, devices, Hz -> images per second"""
    seconds = cycles.sum() / clock
    return devices * batch / seconds


SOLUTIONS = {
    "tpu.critical_batch": critical_batch,
    "tpu.throughput": throughput,
}
