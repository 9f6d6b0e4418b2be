"""The solutions of lesson 02_tpu/4_what_stays_in_float32. Written by `labkit build` from

chapters/02_tpu/source/what_stays_in_float32/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit.tpu.bfloat16 import round_to_bfloat16
from labkit_lessons.tpu.what_stays_in_float32.formats import to_e4m3


def mixed_precision_step(master, gradient, lr):
    """master and gradient float32, any shape -> (new master, its copy), both as float32"""
    master = master - np.float32(lr) * gradient
    copy = round_to_bfloat16(master)
    return master, copy


def stochastic_round(x, noise):
    """x float32, noise uint32 below 65,536, one shape -> float32 whose lower 16 bits are 0"""
    bits = x.view(np.uint32)
    rounded = (bits + noise) & 0xFFFF0000
    return rounded.view(np.float32)


def scale_to_fp8(x, amaxes):
    """x float32, any shape; amaxes [steps] float32 -> (q, of x's shape; scale): x is nearly q scale"""
    largest = max(amaxes)
    scale = largest / 448 if largest > 0 else 1
    q = to_e4m3(np.clip(x / scale, -448, 448))
    return q, scale


SOLUTIONS = {
    "tpu.mixed_precision_step": mixed_precision_step,
    "tpu.stochastic_round": stochastic_round,
    "tpu.scale_to_fp8": scale_to_fp8,
}
