"""The layers of the course in float64 NumPy, each with its gradient, written to be read.

These functions are the course's definition of right: every kernel, circuit and cluster is compared
with them. They are as slow as clear code is. One letter means one thing throughout:

    N images   C channels in    H x W  size of the input    R x S  size of the kernel
               K channels out   P x Q  size of the output   D      features in (linear)

`dy` is dL/dy, the gradient of the loss with respect to a layer's output. A `_backward` function
turns it into the gradients with respect to the layer's inputs. Inputs of any real type are read as
float64 and never changed. Shapes that do not fit raise a ValueError that names both shapes and the
rule (`labkit.shapes`).
"""

import numpy as np

from labkit.gradcheck import GradcheckResult, gradcheck
from labkit.shapes import fit_bias, fit_conv, fit_linear, fit_output, fit_pool, read, read_labels

__all__ = [
    "GradcheckResult",
    "conv2d",
    "conv2d_backward",
    "gradcheck",
    "linear",
    "linear_backward",
    "maxpool2d",
    "maxpool2d_backward",
    "relu",
    "relu_backward",
    "sgd",
    "softmax_cross_entropy",
    "softmax_cross_entropy_backward",
]


def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Fully connected layer, x[N,D], w[K,D], b[K] -> y[N,K].

    y[n,k] = b[k] + sum_d x[n,d] w[k,d]
    """
    x, w = read("linear", x=(x, "N,D"), w=(w, "K,D"))
    fit_linear("linear", x, w)
    y = x @ w.T  # [N,K]
    return y if b is None else y + fit_bias("linear", b, w)


def linear_backward(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `linear`: dy[N,K], x[N,D], w[K,D] -> dx[N,D], dw[K,D], db[K].

    dx[n,d] = sum_k dy[n,k] w[k,d]      dw[k,d] = sum_n dy[n,k] x[n,d]      db[k] = sum_n dy[n,k]
    """
    dy, x, w = read("linear_backward", dy=(dy, "N,K"), x=(x, "N,D"), w=(w, "K,D"))
    fit_linear("linear_backward", x, w)
    fit_output("linear_backward", dy, (len(x), len(w)))
    return dy @ w, dy.T @ x, dy.sum(axis=0)


def conv2d(
    x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None, stride: int = 1, padding: int = 0
) -> np.ndarray:
    """Convolution as deep learning means it: x[N,C,H,W], w[K,C,R,S], b[K] -> y[N,K,P,Q].

    y[n,k,p,q] = b[k] + sum_c sum_r sum_s w[k,c,r,s] x[n,c,i,j]

    with i = p*stride + r - padding,  j = q*stride + s - padding,  and x = 0 outside the image.
    P = (H + 2 padding - R) // stride + 1, and Q likewise from W and S. The kernel is not flipped,
    so this is what mathematics calls a cross-correlation.
    """
    x, w = read("conv2d", x=(x, "N,C,H,W"), w=(w, "K,C,R,S"))
    n, k, p, q = fit_conv("conv2d", x, w, stride, padding)
    padded = _pad(x, padding)
    y = np.zeros((n, k, p, q))
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            seen = padded[:, :, _steps(r, p, stride), _steps(s, q, stride)]  # [N,C,P,Q]
            y += np.einsum("ncpq,kc->nkpq", seen, w[:, :, r, s], optimize=True)
    return y if b is None else y + fit_bias("conv2d", b, w)[:, None, None]


def conv2d_backward(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray, stride: int = 1, padding: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `conv2d`: dy[N,K,P,Q], x[N,C,H,W], w[K,C,R,S] -> dx like x, dw like w, db[K].

    dw[k,c,r,s] = sum_n sum_p sum_q dy[n,k,p,q] x[n,c,i,j]        i, j as in `conv2d`
    dx[n,c,i,j] = sum_k sum_r sum_s dy[n,k,p,q] w[k,c,r,s]        where (p, q) is the output that
                  sees pixel (i, j) through tap (r, s); a term without such an output is 0
    db[k]       = sum_n sum_p sum_q dy[n,k,p,q]
    """
    name = "conv2d_backward"
    dy, x, w = read(name, dy=(dy, "N,K,P,Q"), x=(x, "N,C,H,W"), w=(w, "K,C,R,S"))
    n, k, p, q = fit_conv(name, x, w, stride, padding)
    padded = _pad(x, padding)
    fit_output(name, dy, (n, k, p, q))
    dpadded, dw = np.zeros_like(padded), np.zeros_like(w)
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            seen = (slice(None), slice(None), _steps(r, p, stride), _steps(s, q, stride))
            dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, padded[seen], optimize=True)
            dpadded[seen] += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s], optimize=True)
    height, width = x.shape[2:]
    dx = dpadded[:, :, padding : padding + height, padding : padding + width]  # drop the frame
    return dx, dw, dy.sum(axis=(0, 2, 3))


def maxpool2d(x: np.ndarray, size: int = 2, stride: int | None = None) -> np.ndarray:
    """Largest value of each size x size window: x[N,C,H,W] -> y[N,C,P,Q].

    y[n,c,p,q] = max_r max_s x[n, c, p*stride + r, q*stride + s],   0 <= r, s < size

    `stride` is `size` unless given. P = (H - size) // stride + 1: a ragged rest is left out.
    """
    (x,) = read("maxpool2d", x=(x, "N,C,H,W"))
    return _windows("maxpool2d", x, size, stride)[0].max(axis=0)


def maxpool2d_backward(
    dy: np.ndarray, x: np.ndarray, size: int = 2, stride: int | None = None
) -> np.ndarray:
    """Gradient of `maxpool2d`: dy[N,C,P,Q], x[N,C,H,W] -> dx like x.

    dx[n,c,i,j] = sum of dy[n,c,p,q] over the windows (p, q) whose maximum is at (i, j). Of equal
    values the first in row-major order is the maximum, as in PyTorch.
    """
    dy, x = read("maxpool2d_backward", dy=(dy, "N,C,P,Q"), x=(x, "N,C,H,W"))
    windows, taps = _windows("maxpool2d_backward", x, size, stride)
    fit_output("maxpool2d_backward", dy, windows.shape[1:])
    first = windows.argmax(axis=0)  # [N,C,P,Q], which tap holds the maximum
    dx = np.zeros_like(x)
    for tap, seen in enumerate(taps):
        dx[seen] += np.where(first == tap, dy, 0.0)
    return dx


def relu(x: np.ndarray) -> np.ndarray:
    """y = max(x, 0), any shape."""
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)


def relu_backward(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx = dy where x > 0, else 0: at x = 0 the gradient is taken as 0, as in PyTorch."""
    dy, x = np.asarray(dy, dtype=np.float64), np.asarray(x, dtype=np.float64)
    fit_output("relu_backward", dy, x.shape)
    return np.where(x > 0, dy, 0.0)


def softmax_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean loss of logits[N,K] against the right classes labels[N], integers from 0 to K-1.

    L = -1/N sum_n log p[n, labels[n]],     p[n,k] = exp(logits[n,k]) / sum_j exp(logits[n,j])
    """
    logits, labels = read_labels("softmax_cross_entropy", logits, labels)
    return float(-_log_softmax(logits)[np.arange(len(labels)), labels].mean())


def softmax_cross_entropy_backward(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Gradient of `softmax_cross_entropy`: logits[N,K], labels[N] -> dlogits[N,K].

    dlogits[n,k] = 1/N (p[n,k] - [k = labels[n]])
    """
    logits, labels = read_labels("softmax_cross_entropy_backward", logits, labels)
    dlogits = np.exp(_log_softmax(logits))
    dlogits[np.arange(len(labels)), labels] -= 1
    return dlogits / len(labels)


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """log p[n,k]. Shifting a row by its maximum leaves p as it is, and exp cannot overflow."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def sgd(
    parameters: dict | list,
    gradients: dict | list,
    velocities: dict | list | None,
    lr: float,
    momentum: float = 0.9,
) -> tuple[dict | list, dict | list]:
    """One step of gradient descent with momentum, PyTorch's convention; returns new values of both.

    v <- momentum v + g          p <- p - lr v

    All three are dicts with the same keys or lists of the same length, of arrays of equal shapes.
    Without velocities (None) the step starts from v = 0.
    """
    if not isinstance(parameters, dict):
        p, g = dict(enumerate(parameters)), dict(enumerate(gradients))
        v = None if velocities is None else dict(enumerate(velocities))
        p, v = sgd(p, g, v, lr, momentum)
        return list(p.values()), list(v.values())
    if velocities is None:
        velocities = {name: np.zeros(np.shape(p)) for name, p in parameters.items()}
    new_parameters, new_velocities = {}, {}
    for what, others in (("gradients", gradients), ("velocities", velocities)):
        if set(others) != set(parameters):
            raise ValueError(
                f"sgd: {what} are named {sorted(others)} but parameters {sorted(parameters)}: "
                "there must be one for each."
            )
    for name in parameters:
        p, g, v = (
            np.asarray(a[name], dtype=np.float64) for a in (parameters, gradients, velocities)
        )
        if not p.shape == g.shape == v.shape:
            raise ValueError(
                f"sgd: parameter {name!r} has shape {p.shape} but its gradient {g.shape} and its "
                f"velocity {v.shape}: all must be equal."
            )
        new_velocities[name] = momentum * v + g
        new_parameters[name] = p - lr * new_velocities[name]
    return new_parameters, new_velocities


def _pad(x: np.ndarray, padding: int) -> np.ndarray:
    """x[N,C,H,W] in a frame of zeros: [N, C, H + 2 padding, W + 2 padding]."""
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def _steps(start: int, count: int, stride: int) -> slice:
    """The indices start, start + stride, ..., `count` of them."""
    return slice(start, start + (count - 1) * stride + 1, stride)


def _windows(name: str, x: np.ndarray, size: int, stride: int | None) -> tuple[np.ndarray, list]:
    """What each tap of a pooling window sees, [size*size,N,C,P,Q], and where in x it sees it."""
    stride, p, q = fit_pool(name, x, size, stride)
    taps = [
        (slice(None), slice(None), _steps(r, p, stride), _steps(s, q, stride))
        for r in range(size)
        for s in range(size)
    ]
    return np.stack([x[seen] for seen in taps]), taps
