"""The gradients of a convolution one by one: right answers, of which wrong ideas take parts.

They are those of `labkit.reference.conv2d_backward`. Letters: dy[N,K,P,Q], x[N,C,H,W], w[K,C,R,S].
"""

import numpy as np

from labkit.reference import conv2d_backward


def weight_gradients(
    dy,
    x,
    R,
    S,
    stride=1,
    padding=0,
):
    """dw[K,C,R,S] and db[K], in the dtype of x."""
    K = dy.shape[1]
    C = x.shape[1]
    w = np.zeros((K, C, R, S))  # dw and db do not depend on w
    _, dw, db = conv2d_backward(dy, x, w, stride, padding)
    return dw.astype(x.dtype), db.astype(x.dtype)


def input_gradient(dy, w, x_shape, stride=1, padding=0):
    """dx[N,C,H,W], which is `x_shape`, in the dtype of dy."""
    x = np.zeros(x_shape)  # dx does not depend on x
    dx, _, _ = conv2d_backward(dy, x, w, stride, padding)
    return dx.astype(dy.dtype)
