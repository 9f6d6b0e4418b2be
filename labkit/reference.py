"""The layers of the course in float64 NumPy, each with its gradient, written to be read.

These functions are the course's definition of right: every kernel, circuit and cluster is compared
with them. They are as slow as clear code is. A letter means one thing throughout, as a size when it
is large and as an index when it is small:

    N images   C channels in    H x W  size of the input    R x S  size of the kernel
               K channels out   P x Q  size of the output   D      features in (linear)

`dy` is dL/dy, the gradient of the loss with respect to a layer's output. A `_backward` function
turns it into the gradients with respect to the layer's inputs. Inputs of any real type are read as
float64 and never changed; all results are float64. Shapes that do not fit raise a ValueError that
names both shapes and the rule (`labkit.shapes`).

Lessons gradients and convolutions derive `linear`, `conv2d` and their gradients. Lesson
training uses all of them in one step, and derives the update, `sgd`.

Dense: a sum of the mathematics is one line, with all its letters.
"""

import numpy as np

from labkit.convolutions import framed
from labkit.gradcheck import GradcheckResult, gradcheck  # noqa: F401  the oracle for gradients
from labkit.shapes import fit, fit_integer, fit_labels, fit_output, fit_update, fit_windows


def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray | None = None) -> np.ndarray:
    """Fully connected layer, x[N,D], w[K,D], b[K] -> y[N,K] (lesson gradients).

    y[n,k] = b[k] + sum_d x[n,d] w[k,d],   without b (None): b[k] = 0
    """
    x, w, b = fit("linear", "x[N,D] w[K,D] b[K]", x, w, b)
    y = x @ w.T  # [N,D] @ [D,K]
    return y if b is None else y + b


def linear_backward(
    dy: np.ndarray, x: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `linear`: dy[N,K], x[N,D], w[K,D] -> dx[N,D], dw[K,D], db[K].

    dx[n,d] = sum_k dy[n,k] w[k,d]      dw[k,d] = sum_n dy[n,k] x[n,d]      db[k] = sum_n dy[n,k]

    The formulas are derived in lesson gradients.
    """
    dy, x, w = fit("linear_backward", "dy[N,K] x[N,D] w[K,D]", dy, x, w)
    dx = dy @ w  # [N,K] @ [K,D]
    dw = dy.T @ x  # [K,N] @ [N,D]
    db = dy.sum(axis=0)
    return dx, dw, db


def conv2d(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None = None,
    stride: int = 1,
    padding: int = 0,
) -> np.ndarray:
    """Convolution as deep learning means it: x[N,C,H,W], w[K,C,R,S], b[K] -> y[N,K,P,Q].

    y[n,k,p,q] = b[k] + sum_c sum_r sum_s w[k,c,r,s] x[n,c,i,j]

    with i = p*stride + r - padding,  j = q*stride + s - padding,  and x = 0 outside the image.
    P = (H + 2 padding - R) // stride + 1, and Q likewise from W and S. The kernel is not flipped,
    so this is what mathematics calls a cross-correlation. Lesson convolutions derives the formulas.
    """
    x, w, b = fit("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]", x, w, b)
    N, K = len(x), len(w)
    R, S = w.shape[2:]
    P, Q = fit_windows("conv2d", x, (R, S), stride, padding)
    image = framed(x, padding)
    y = np.zeros((N, K, P, Q))
    for r, s in np.ndindex(R, S):
        pixels = _pixels_of_tap(r, s, P, Q, stride)
        seen = image[pixels]  # [N,C,P,Q]
        weights = w[:, :, r, s]  # [K,C]
        y += np.einsum("ncpq,kc->nkpq", seen, weights, optimize=True)
    if b is not None:
        y += b[:, None, None]
    return y


def conv2d_backward(
    dy: np.ndarray,
    x: np.ndarray,
    w: np.ndarray,
    stride: int = 1,
    padding: int = 0,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `conv2d`: dy[N,K,P,Q], x[N,C,H,W], w[K,C,R,S] -> dx like x, dw like w, db[K].

    dw[k,c,r,s] = sum_n sum_p sum_q dy[n,k,p,q] x[n,c,i,j]        i, j as in `conv2d`
    dx[n,c,i,j] = sum_k sum_r sum_s dy[n,k,p,q] w[k,c,r,s]        where (p, q) is the output that
                  sees pixel (i, j) through tap (r, s); a term without such an output is 0
    db[k]       = sum_n sum_p sum_q dy[n,k,p,q]

    The formulas are derived in lesson convolutions.
    """
    x, w = fit("conv2d_backward", "x[N,C,H,W] w[K,C,R,S]", x, w)
    N, K = len(x), len(w)
    H, W = x.shape[2:]
    R, S = w.shape[2:]
    P, Q = fit_windows("conv2d_backward", x, (R, S), stride, padding)
    dy = fit_output("conv2d_backward", dy, (N, K, P, Q))
    image = framed(x, padding)
    dimage = np.zeros_like(image)
    dw = np.zeros_like(w)
    for r, s in np.ndindex(R, S):
        pixels = _pixels_of_tap(r, s, P, Q, stride)
        seen = image[pixels]  # [N,C,P,Q]
        weights = w[:, :, r, s]  # [K,C]
        dw[:, :, r, s] = np.einsum("nkpq,ncpq->kc", dy, seen, optimize=True)
        dimage[pixels] += np.einsum("nkpq,kc->ncpq", dy, weights, optimize=True)
    dx = dimage[:, :, padding : padding + H, padding : padding + W]  # without the frame
    db = dy.sum(axis=(0, 2, 3))
    return dx, dw, db


def maxpool2d(x: np.ndarray, size: int = 2, stride: int | None = None) -> np.ndarray:
    """Largest value of each size x size window: x[N,C,H,W] -> y[N,C,P,Q].

    y[n,c,p,q] = max_r max_s x[n, c, p*stride + r, q*stride + s],   0 <= r, s < size

    `stride` is `size` unless given. P = (H - size) // stride + 1, and Q likewise from W: a ragged
    rest is left out.
    """
    (x,) = fit("maxpool2d", "x[N,C,H,W]", x)
    taps = _pool_taps("maxpool2d", x, size, stride)
    return np.max([x[pixels] for pixels in taps], axis=0)


def maxpool2d_backward(
    dy: np.ndarray,
    x: np.ndarray,
    size: int = 2,
    stride: int | None = None,
) -> np.ndarray:
    """Gradient of `maxpool2d`: dy[N,C,P,Q], x[N,C,H,W] -> dx like x.

    dx[n,c,i,j] = sum of dy[n,c,p,q] over the windows (p, q) whose maximum is at (i, j). Of equal
    values the first in row-major order is the maximum, as in PyTorch.
    """
    (x,) = fit("maxpool2d_backward", "x[N,C,H,W]", x)
    taps = _pool_taps("maxpool2d_backward", x, size, stride)
    dy = fit_output("maxpool2d_backward", dy, x[taps[0]].shape)
    of_maximum = np.argmax([x[pixels] for pixels in taps], axis=0)  # [N,C,P,Q]: a tap's number
    dx = np.zeros_like(x)
    for tap, pixels in enumerate(taps):
        dx[pixels] += np.where(of_maximum == tap, dy, 0.0)
    return dx


def relu(x: np.ndarray) -> np.ndarray:
    """y = max(x, 0), for each element of an array of any shape."""
    return np.maximum(np.asarray(x, dtype=np.float64), 0.0)


def relu_backward(dy: np.ndarray, x: np.ndarray) -> np.ndarray:
    """dx = dy where x > 0, else 0: at x = 0 the gradient is taken as 0, as in PyTorch."""
    x = np.asarray(x, dtype=np.float64)
    dy = fit_output("relu_backward", dy, x.shape)
    return np.where(x > 0, dy, 0.0)


def softmax_cross_entropy(logits: np.ndarray, labels: np.ndarray) -> float:
    """Mean loss of logits[N,K] against the right classes labels[N], integers from 0 to K-1.

    L = -1/N sum_n log p[n, labels[n]],     p[n,k] = exp(logits[n,k]) / sum_j exp(logits[n,j])
    """
    logits, labels = fit_labels("softmax_cross_entropy", logits, labels)
    images = np.arange(len(labels))
    log_p = _log_softmax(logits)[images, labels]  # [N]: of the right class
    return float(-log_p.mean())


def softmax_cross_entropy_backward(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Gradient of `softmax_cross_entropy`: logits[N,K], labels[N] -> dlogits[N,K].

    dlogits[n,k] = 1/N (p[n,k] - [k = labels[n]])

    with p as in `softmax_cross_entropy`, and [k = labels[n]] 1 where it holds, else 0.
    """
    logits, labels = fit_labels("softmax_cross_entropy_backward", logits, labels)
    N = len(labels)
    dlogits = np.exp(_log_softmax(logits))  # p
    dlogits[np.arange(N), labels] -= 1
    return dlogits / N


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
    Without velocities (None) the step starts from v = 0. Both results are new, dicts for dicts and
    lists for lists. (Lesson a_training_step_on_the_gpu.)
    """
    if not isinstance(parameters, dict):
        return _sgd_of_lists(parameters, gradients, velocities, lr, momentum)
    if velocities is None:
        velocities = {name: np.zeros(np.shape(p)) for name, p in parameters.items()}
    fit_update("sgd", parameters, gradients, velocities)
    new_parameters = {}
    new_velocities = {}
    for name in parameters:
        p = np.asarray(parameters[name], dtype=np.float64)
        g = np.asarray(gradients[name], dtype=np.float64)
        v = np.asarray(velocities[name], dtype=np.float64)
        new_velocities[name] = momentum * v + g
        new_parameters[name] = p - lr * new_velocities[name]
    return new_parameters, new_velocities


def _sgd_of_lists(
    parameters: list,
    gradients: list,
    velocities: list | None,
    lr: float,
    momentum: float,
) -> tuple[list, list]:
    """`sgd` where a parameter's name is its place in a list."""
    named_velocities = None if velocities is None else dict(enumerate(velocities))
    named_parameters = dict(enumerate(parameters))
    named_gradients = dict(enumerate(gradients))
    new_parameters, new_velocities = sgd(
        named_parameters, named_gradients, named_velocities, lr, momentum
    )
    return list(new_parameters.values()), list(new_velocities.values())


def _pixels_of_tap(r: int, s: int, P: int, Q: int, stride: int) -> tuple:
    """Index of the pixels that tap (r, s) of a kernel sees in all P x Q windows at once.

    Of a framed image x[N,C,H,W] this index takes a view [N,C,P,Q].
    """
    rows = slice(r, r + stride * P, stride)
    columns = slice(s, s + stride * Q, stride)
    return (..., rows, columns)


def _pool_taps(layer: str, x: np.ndarray, size: int, stride: int | None) -> list[tuple]:
    """For each tap of a size x size window, in row-major order, the index of its pixels in x."""
    fit_integer(layer, "size", size, at_least=1)
    if stride is None:
        stride = size
    P, Q = fit_windows(layer, x, (size, size), stride)
    taps = np.ndindex(size, size)
    return [_pixels_of_tap(r, s, P, Q, stride) for r, s in taps]


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    """log p[n,k]. Shifting a row by its maximum leaves p as it is, and exp cannot overflow."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
