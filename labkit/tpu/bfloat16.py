"""bfloat16, the TPU's number format, in NumPy: rounding, sums, split operands, error bounds.

    float32   1 sign   8 exponent   23 fraction        value = (-1)^s * 2^(e - 127) * 1.fraction
    bfloat16  1 sign   8 exponent    7 fraction        the upper half of a float32: the same range

A bfloat16 is held here as a float32 whose lower 16 bits are 0, so that every operation is one of
NumPy's on float32, and its result the same on every machine. The product of two bfloat16 numbers
(8 bits times 8 bits) fits into a float32 (24 bits): it is exact, and only sums round. Lesson
bfloat16 derives all of this. One thing is not modelled: a TPU takes subnormal numbers for 0 (Google
Cloud, "Improve your model's performance with bfloat16").

Dense: the bits of a number are masks and shifts, and an error bound is one formula.
"""

from collections.abc import Callable

import numpy as np

from labkit.shapes import fit, fit_integer
from labkit.tpu.matrix_unit.patches import Patches

U_BFLOAT16 = 2.0**-8  # unit roundoff: half the step between 1 and the next
U_FLOAT32 = 2.0**-24
ACCUMULATORS = ("float32", "bfloat16")
BATCH = 50  # images at a time: they fit into the caches


@np.errstate(over="ignore", invalid="ignore")  # hardware does not warn either
def round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each number, ties to even, as float32 of the same shape.

    `x` is read as float32. Half of the step (0x8000) is added to the bits, one less where the upper
    half is even; then the lower half is cut off. Beyond 3.39e38 it carries into infinity. NaN stays
    NaN, with its sign.
    """
    x = np.array(x, dtype=np.float32)
    flat = x.reshape(-1)
    bits = flat.view(np.uint32)
    odd = (bits >> 16) & 1  # the last bit that is kept
    nearest = bits + (odd + 0x7FFF)
    quiet_nan = bits | 0x400000  # else a NaN with its only bits in the lower half would become inf
    rounded = np.where(np.isnan(flat), quiet_nan, nearest)
    upper = (rounded & 0xFFFF0000).astype(np.uint32)
    return upper.view(np.float32).reshape(x.shape)


def fields(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sign (0 or 1), exponent e (0 to 255) and fraction (0 to 127) of x, rounded to bfloat16."""
    bits = round_to_bfloat16(x).view(np.uint32) >> 16
    sign = bits >> 15
    exponent = (bits >> 7) & 0xFF
    fraction = bits & 0x7F
    return sign, exponent, fraction


@np.errstate(over="ignore", invalid="ignore")
def dot(x: np.ndarray, y: np.ndarray, accumulator: str = "float32") -> np.ndarray:
    """Dot products over the last axis, x[..., K], y[..., K] -> [...], as float32.

    Operands are rounded to bfloat16; the products are added one by one, k ascending, and the sum is
    kept in `accumulator`: "float32" (as in the matrix unit) or "bfloat16". Raises ValueError for
    another accumulator, and for shapes that do not end in the same K.
    """
    narrow = _is_narrow(accumulator)
    if not np.shape(x)[-1:] == np.shape(y)[-1:] != ():
        shapes = f"{np.shape(x)} and {np.shape(y)}"
        raise ValueError(f"dot: {shapes} do not fit; it takes x[..., K] and y[..., K].")
    x = round_to_bfloat16(x)
    y = round_to_bfloat16(y)
    total = np.float32(0)
    for k in range(x.shape[-1]):
        total = total + x[..., k] * y[..., k]
        if narrow:
            total = round_to_bfloat16(total)
    return total


def matmul(a: np.ndarray, b: np.ndarray, accumulator: str = "float32") -> np.ndarray:
    """a[M,K] @ b[K,N] -> c[M,N] float32, each element a `dot`.

    It adds K outer products, so it suits small matrices: at most some hundred rows and columns.
    """
    a = round_to_bfloat16(a)
    b = round_to_bfloat16(b)
    fit("matmul", "a[M,K] b[K,N]", a, b)
    return dot(a[:, None], b.T, accumulator)


@np.errstate(over="ignore", invalid="ignore")
def split(x: np.ndarray, parts: int = 3) -> np.ndarray:
    """bfloat16 numbers [parts, *x.shape] whose sum comes closer to x with every part.

    Each part is the rounded remainder of those before. Three hold all 24 bits of a float32, if the
    last of them stays above the smallest number: x = hi + mid + lo exactly for |x| from 1e-30
    to 3.38e38.
    """
    fit_integer("split", "parts", parts, at_least=1)
    rest = np.array(x, dtype=np.float32)
    found = []
    for _ in range(parts):
        part = round_to_bfloat16(rest)
        found.append(part)
        rest = rest - part  # exact: the leading bits cancel
    return np.array(found)


def matmul_split(a: np.ndarray, b: np.ndarray, parts: int = 2) -> np.ndarray:
    """a[M,K] @ b[K,N] of float32 numbers, made of bfloat16 products alone, smallest first.

    Of all pairs of parts those count whose product matters: i + j < parts. Two parts need three
    products (bf16x3), three need six (bf16x6).
    """
    left = split(a, parts)
    right = split(b, parts)
    total = 0
    for both in reversed(range(parts)):  # i + j: the larger, the smaller the product
        for i in reversed(range(both + 1)):
            total = total + matmul(left[i], right[both - i])
    return total


def error_bound(K: int, unit_roundoff: float) -> float:
    """gamma_K = K u / (1 - K u): what K roundings in a row can do at worst, relatively.

    N. Higham, Accuracy and Stability of Numerical Algorithms (2002), lemma 3.1. Infinite from
    K u = 1 on, where it promises nothing: with u = 2^-8, from K = 256 on.
    """
    worst = K * unit_roundoff
    if worst >= 1:
        return float("inf")
    return worst / (1 - worst)


def dot_bound(K: int, accumulator: str = "float32") -> float:
    """The largest |error| / sum |x_k y_k| that `dot` may have (no overflow or underflow).

    (1 + 2^-8)^2 (1 + gamma_n) - 1: both operands are rounded, then the sum is, n times. In float32
    n = K - 1, since the first product is exact there; in bfloat16 n = K.
    """
    operands = (1 + U_BFLOAT16) ** 2
    narrow = _is_narrow(accumulator)
    sums = error_bound(K, U_BFLOAT16) if narrow else error_bound(K - 1, U_FLOAT32)
    return operands * (1 + sums) - 1


def convnet(
    weights: dict[str, np.ndarray], images: np.ndarray, product: Callable | None = None
) -> np.ndarray:
    """Logits[N,10] of the course's network, images[N,3,32,32], every layer one matrix product.

    product(a[M,K], b[K,N]) -> [M,N]; by default bfloat16 operands and float32 sums, as in the
    matrix unit. (The order of the sums is that of the CPU's library.) Bias, ReLU, pooling: float32.
    """
    product = product or _with_bfloat16_operands
    starts = range(0, len(images), BATCH)
    parts = [_logits(weights, images[n : n + BATCH], product) for n in starts]
    return np.concatenate(parts)


def _with_bfloat16_operands(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return round_to_bfloat16(a) @ round_to_bfloat16(b)


def _logits(weights: dict[str, np.ndarray], x: np.ndarray, product: Callable) -> np.ndarray:
    """Logits[N,10] of some images x[N,3,32,32]."""
    for layer in ("conv1", "conv2"):
        w = weights[f"{layer}.weight"]  # [K,C,3,3]
        N, _, H, W = x.shape
        K = len(w)
        rows = Patches(x, w, stride=1, padding=1)[:, :]  # im2col [N·H·W,C·3·3], by addresses
        y = product(rows, w.reshape(K, -1).T) + weights[f"{layer}.bias"]
        pairs = np.maximum(y, 0).reshape(N, H // 2, 2, W // 2, 2, K)
        x = pairs.max(axis=(2, 4)).transpose(0, 3, 1, 2)  # [N,K,H/2,W/2]
    hidden = product(x.reshape(len(x), -1), weights["fc1.weight"].T) + weights["fc1.bias"]
    return product(np.maximum(hidden, 0), weights["fc2.weight"].T) + weights["fc2.bias"]


def _is_narrow(accumulator: str) -> bool:
    """Is the sum kept in bfloat16? ValueError for what is no accumulator."""
    if accumulator not in ACCUMULATORS:
        raise ValueError(f"The accumulator is 'float32' or 'bfloat16', not {accumulator!r}.")
    return accumulator == "bfloat16"
