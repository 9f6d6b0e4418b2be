"""The layers of the course in float64 NumPy, each with its gradient, written to be read.

These functions are the course's definition of right: every kernel, circuit and cluster is compared
with them. They are as slow as clear code is. A letter means one thing throughout, as a size when it
is large and as an index when it is small:

    N images   C channels in    H x W  size of the input    R x S  size of the kernel
               K channels out   P x Q  size of the output   D      features in (linear)

`dy` is dL/dy, the gradient of the loss with respect to a layer's output. A `_backward` function
turns it into the gradients with respect to the layer's inputs. Inputs of any real type are read as
float64 and never changed. Shapes that do not fit raise a ValueError that names both shapes and the
rule (`labkit.shapes`).
"""

from collections.abc import Iterator

import numpy as np

from labkit.gradcheck import GradcheckResult, gradcheck  # noqa: F401  the oracle for gradients
from labkit.shapes import fit, fit_integer, fit_labels, fit_output, fit_update, fit_windows


def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Fully connected layer, x[N,D], w[K,D], b[K] -> y[N,K].

    y[n,k] = b[k] + sum_d x[n,d] w[k,d]
    """
    x, w, b = fit("linear", "x[N,D] w[K,D] b[K]", x, w, b)
    y = x @ w.T  # [N,D] @ [D,K]
    return y if b is None else y + b


def linear_backward(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `linear`: dy[N,K], x[N,D], w[K,D] -> dx[N,D], dw[K,D], db[K].

    dx[n,d] = sum_k dy[n,k] w[k,d]      dw[k,d] = sum_n dy[n,k] x[n,d]      db[k] = sum_n dy[n,k]
    """
    dy, x, w = fit("linear_backward", "dy[N,K] x[N,D] w[K,D]", dy, x, w)
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
    x, w, b = fit("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]", x, w, b)
    P, Q = fit_windows("conv2d", x, w.shape[2:], stride, padding)
    padded, y = _pad(x, padding), np.zeros((len(x), len(w), P, Q))
    for (r, s), seen in _taps(w.shape[2:], (P, Q), stride):
        y += np.einsum("ncpq,kc->nkpq", padded[seen], w[:, :, r, s], optimize=True)
    return y if b is None else y + b[:, None, None]


def conv2d_backward(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray, stride: int = 1, padding: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `conv2d`: dy[N,K,P,Q], x[N,C,H,W], w[K,C,R,S] -> dx like x, dw like w, db[K].

    dw[k,c,r,s] = sum_n sum_p sum_q dy[n,k,p,q] x[n,c,i,j]        i, j as in `conv2d`
    dx[n,c,i,j] = sum_k sum_r sum_s dy[n,k,p,q] w[k,c,r,s]        where (p, q) is the output that
                  sees pixel (i, j) through tap (r, s); a term without such an output is 0
    db[k]       = sum_n sum_p sum_q dy[n,k,p,q]
    """
    x, w = fit("conv2d_backward", "x[N,C,H,W] w[K,C,R,S]", x, w)
    P, Q = fit_windows("conv2d_backward", x, w.shape[2:], stride, padding)
    dy = fit_output("conv2d_backward", dy, (len(x), len(w), P, Q))
    padded = _pad(x, padding)
    dpadded, dw = np.zeros_like(padded), np.zeros_like(w)
    for (r, s), seen in _taps(w.shape[2:], (P, Q), stride):
        dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, padded[seen], optimize=True)
        dpadded[seen] += np.einsum("nkpq,kc->ncpq", dy, w[:, :, r, s], optimize=True)
    H, W = x.shape[2:]
    dx = dpadded[:, :, padding : padding + H, padding : padding + W]  # without the frame
    return dx, dw, dy.sum(axis=(0, 2, 3))


def maxpool2d(x: np.ndarray, size: int = 2, stride: int | None = None) -> np.ndarray:
    """Largest value of each size x size window: x[N,C,H,W] -> y[N,C,P,Q].

    y[n,c,p,q] = max_r max_s x[n, c, p*stride + r, q*stride + s],   0 <= r, s < size

    `stride` is `size` unless given. P = (H - size) // stride + 1: a ragged rest is left out.
    """
    (x,) = fit("maxpool2d", "x[N,C,H,W]", x)
    return np.max([x[seen] for seen in _pool_taps("maxpool2d", x, size, stride)], axis=0)


def maxpool2d_backward(
    dy: np.ndarray, x: np.ndarray, size: int = 2, stride: int | None = None
) -> np.ndarray:
    """Gradient of `maxpool2d`: dy[N,C,P,Q], x[N,C,H,W] -> dx like x.

    dx[n,c,i,j] = sum of dy[n,c,p,q] over the windows (p, q) whose maximum is at (i, j). Of equal
    values the first in row-major order is the maximum, as in PyTorch.
    """
    (x,) = fit("maxpool2d_backward", "x[N,C,H,W]", x)
    taps = _pool_taps("maxpool2d_backward", x, size, stride)
    dy = fit_output("maxpool2d_backward", dy, x[taps[0]].shape)
    first = np.argmax([x[seen] for seen in taps], axis=0)  # [N,C,P,Q]: the tap of the maximum
    dx = np.zeros_like(x)
    for tap, seen in enumerate(taps):
        dx[seen] += np.where(first == tap, dy, 0.0)
    return dx


def relu(x: np.ndarray) -> np.ndarray:
    """y = max(x, 0), any shape."""
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)


def relu_backward(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx = dy where x > 0, else 0: at x = 0 the gradient is taken as 0, as in PyTorch."""
    x = np.asarray(x, dtype=np.float64)
    return np.where(x > 0, fit_output("relu_backward", dy, x.shape), 0.0)


def softmax_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean loss of logits[N,K] against the right classes labels[N], integers from 0 to K-1.

    L = -1/N sum_n log p[n, labels[n]],     p[n,k] = exp(logits[n,k]) / sum_j exp(logits[n,j])
    """
    logits, labels = fit_labels("softmax_cross_entropy", logits, labels)
    return float(-_log_softmax(logits)[np.arange(len(labels)), labels].mean())


def softmax_cross_entropy_backward(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Gradient of `softmax_cross_entropy`: logits[N,K], labels[N] -> dlogits[N,K].

    dlogits[n,k] = 1/N (p[n,k] - [k = labels[n]])
    """
    logits, labels = fit_labels("softmax_cross_entropy_backward", logits, labels)
    dlogits = np.exp(_log_softmax(logits))
    dlogits[np.arange(len(labels)), labels] -= 1
    return dlogits / len(labels)


def sgd(
    parameters: dict | list,
    gradients: dict | list,
    velocities: dict | list | None,
    lr: float,
    momentum: float = 0.9,
) -> tuple[dict | list, dict | list]:
    """One step of gradient descent with momentum, PyTorch's convention: parameters, velocities.

    v <- momentum v + g          p <- p - lr v

    All three are dicts with the same keys or lists of the same length, of arrays of equal shapes.
    Without velocities (None) the step starts from v = 0. Both results are new.
    """
    if not isinstance(parameters, dict):  # of lists, the places are the names
        lists = (parameters, gradients, velocities)
        named = (None if a is None else dict(enumerate(a)) for a in lists)
        return tuple(list(new.values()) for new in sgd(*named, lr, momentum))
    if velocities is None:
        velocities = {name: np.zeros(np.shape(p)) for name, p in parameters.items()}
    fit_update("sgd", parameters, gradients, velocities)
    stepped, moved = {}, {}
    for name in parameters:
        arrays = (parameters[name], gradients[name], velocities[name])
        p, g, v = (np.asarray(a, dtype=np.float64) for a in arrays)
        moved[name] = momentum * v + g
        stepped[name] = p - lr * moved[name]
    return stepped, moved


def _pad(x: np.ndarray, padding: int) -> np.ndarray:
    """x[N,C,H,W] in a frame of zeros: [N, C, H + 2 padding, W + 2 padding]."""
    return np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))


def _taps(kernel: tuple[int, int], output: tuple[int, int], stride: int) -> Iterator[tuple]:
    """For each tap (r, s) of an R x S kernel: the pixels it sees in all P x Q windows at once.

    They are given as an index: `x[seen]` of x[N,C,H,W] is a view [N,C,P,Q].
    """
    P, Q = output
    for r, s in np.ndindex(kernel):
        yield (r, s), np.s_[:, :, r : r + stride * P : stride, s : s + stride * Q : stride]


def _pool_taps(layer: str, x: np.ndarray, size: int, stride: int | None) -> list[tuple]:
    """What each tap of a size x size window sees of x, in row-major order."""
    fit_integer(layer, "size", size, at_least=1)
    stride = size if stride is None else stride
    output = fit_windows(layer, x, (size, size), stride)
    return [seen for _, seen in _taps((size, size), output, stride)]


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """log p[n,k]. Shifting a row by its maximum leaves p as it is, and exp cannot overflow."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
