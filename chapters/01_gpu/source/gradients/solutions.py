"""The solutions of lesson 01_gpu/1_gradients. Written by `labkit build` from

chapters/01_gpu/source/gradients/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def one_output(x, w, b):
    """features x [D], weights w [D], bias b  ->  one number"""
    y = np.sum(x * w) + b
    return y


def linear_backward(dy, x, w):
    """dy [N, K], x [N, D], w [K, D]  ->  dx [N, D], dw [K, D], db [K], all float64"""
    dx = dy @ w  # [N, K] @ [K, D]: the sum over k
    dw = dy.T @ x  # [K, N] @ [N, D]: the sum over n
    db = dy.sum(axis=0)  # [K]
    return dx, dw, db


def relu_backward(dy, x):
    """dy [N, K], x [N, K]  ->  dx [N, K]"""
    dx = np.where(x > 0, dy, 0)
    return dx


SOLUTIONS = {
    "gpu.one_output": one_output,
    "gpu.linear_backward": linear_backward,
    "gpu.relu_backward": relu_backward,
}
