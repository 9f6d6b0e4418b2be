"""The network's layers in integers: the golden model, which the hardware must equal bit for bit.

    x int8 -> conv2d or linear -> acc int32 -> requantize -> int8 -> relu -> maxpool2d -> int8

No step uses a real number. Products are summed in int32; the weights decide whether a sum can
leave it, and a layer whose weights could is refused before anything is added. The letters are
those of `labkit.reference`. Lesson int8_from_the_formula derives the arithmetic.

Dense: a layer is a sum over windows, and a line names all axes of its arrays.
"""

from dataclasses import dataclass

import numpy as np

from labkit.convolutions import im2col
from labkit.fpga.integers.requantize import INT32, requantize
from labkit.shapes import described, fit_axes, fit_windows


def conv2d(x: np.ndarray, w: np.ndarray, b: np.ndarray, padding: int = 0) -> np.ndarray:
    """x[N,C,H,W] int8, w[K,C,R,S] int8, b[K] int32 -> acc[N,K,P,Q] int32.

    acc[n,k,p,q] = b[k] + sum_c sum_r sum_s w[k,c,r,s] x[n,c,p+r-padding,q+s-padding]

    and x = 0 outside the image. Weights from -128 to 127 are taken.

    Raises ValueError for other types, for shapes that do not fit, and for weights and biases with
    which a sum could leave int32.
    """
    _fitting("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]", x, w, b)
    R, S = w.shape[2:]
    P, Q = fit_windows("conv2d", x, (R, S), stride=1, padding=padding)
    windows = im2col(x, R, S, padding=padding).astype(np.int32)  # [N P Q, C R S]
    taps = w.reshape(len(w), -1).astype(np.int32)  # [K, C R S]
    acc = windows @ taps.T + b  # [N P Q, K]
    by_channel = acc.reshape(len(x), P, Q, len(w)).transpose(0, 3, 1, 2)
    return np.ascontiguousarray(by_channel)


def linear(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x[N,D] int8, w[K,D] int8, b[K] int32 -> acc[N,K] int32.

    acc[n,k] = b[k] + sum_d w[k,d] x[n,d]

    Raises ValueError as `conv2d` does.
    """
    _fitting("linear", "x[N,D] w[K,D] b[K]", x, w, b)
    return x.astype(np.int32) @ w.T.astype(np.int32) + b


def relu(x: np.ndarray) -> np.ndarray:
    """max(x, 0), element by element, in the type of x."""
    return np.maximum(x, np.zeros((), x.dtype))


def maxpool2d(x: np.ndarray) -> np.ndarray:
    """The largest of each 2 x 2 pixels: x[N,C,H,W] -> [N,C,H/2,W/2], in the type of x.

    Raises ValueError where a side is odd.
    """
    fit_axes("maxpool2d", "x[N,C,H,W]", x, {})
    N, C, H, W = x.shape
    if H % 2 or W % 2:
        raise ValueError(f"maxpool2d: {described('x', x)} must have even sides.")
    return x.reshape(N, C, H // 2, 2, W // 2, 2).max(axis=(3, 5))


@dataclass(frozen=True, eq=False)
class IntegerLayer:
    """A convolution with a frame of one pixel, or a fully connected layer, in integers.

    A real number is its integer times its scale; `labkit.fpga.integers.requantize` has the
    formulas. The last layer of a network is not requantised: multiplier, shift and output_scale are
    None.
    """

    name: str
    weights: np.ndarray  # int8[K,C,R,S], or int8[K,D]
    bias: np.ndarray  # int32[K], at scale input_scale * weight_scale[k]
    multiplier: np.ndarray | None  # int32[K], below 2^16
    shift: int | None
    input_scale: float
    weight_scale: np.ndarray  # float64[K]
    output_scale: float | None

    def accumulate(self, x: np.ndarray) -> np.ndarray:
        """The sums of int8 inputs, bias included: int32[N,K,H,W] or int32[N,K]."""
        if self.weights.ndim == 4:
            return conv2d(x, self.weights, self.bias, padding=1)
        return linear(x, self.weights, self.bias)

    def finish(self, acc: np.ndarray) -> np.ndarray:
        """int32 sums[N,K,...] -> int8 of the same shape, requantised and after ReLU: 0 to 127.

        Raises ValueError in the last layer, whose sums are not requantised.
        """
        if self.multiplier is None:
            raise ValueError(f"{self.name} is the last layer: its int32 sums are the logits.")
        return relu(requantize(acc, self.multiplier, self.shift))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """int8 inputs -> int8 outputs: `accumulate`, then `finish`."""
        return self.finish(self.accumulate(x))


def _fitting(layer: str, axes: str, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> None:
    """Refuses other types than int8, int8 and int32, other shapes, and sums beyond int32."""
    first_seen = {}
    kinds = (np.int8, np.int8, np.int32)
    for wanted, array, kind in zip(axes.split(), (x, w, b), kinds, strict=True):
        name = wanted.partition("[")[0]
        got = getattr(array, "dtype", type(array).__name__)
        if got != kind:
            raise ValueError(
                f"{layer}: {name} holds {got}; it must be an array of {kind.__name__}."
            )
        fit_axes(layer, wanted, array, first_seen)
        if array.size == 0:
            raise ValueError(f"{layer}: {described(name, array)} is empty.")
    largest_products = 128 * np.abs(w.astype(np.int64)).sum(axis=tuple(range(1, w.ndim)))
    reach = (np.abs(b.astype(np.int64)) + largest_products).max()
    if reach > INT32[1]:
        raise ValueError(
            f"{layer}: a sum could reach {reach}, which int32 does not hold: use smaller biases, "
            "or fewer products."
        )
