"""bfloat16, the TPU's number format, in NumPy: rounding, sums, split operands, error bounds.

    float32   1 sign   8 exponent   23 fraction        value = (-1)^s * 2^(e - 127) * 1.fraction
    bfloat16  1 sign   8 exponent    7 fraction        the upper half of a float32: the same range

A bfloat16 is held here as a float32 whose lower 16 bits are 0, so that every operation is one of
NumPy's on float32, and its result the same on every machine. The product of two bfloat16 numbers
(8 bits times 8 bits) fits into a float32 (24 bits): it is exact, and only sums round. Lesson
02_tpu/2 derives all of this. One thing is not modelled: a TPU takes subnormal numbers for 0 (Google
Cloud, "Improve your model's performance with bfloat16").
"""

from collections.abc import Callable

import numpy as np

from labkit.shapes import fit, fit_integer
from labkit.tpu.patches import Patches

U_BFLOAT16, U_FLOAT32 = 2.0**-8, 2.0**-24  # unit roundoff: half the step between 1 and the next
ACCUMULATORS = ("float32", "bfloat16")


@np.errstate(over="ignore", invalid="ignore")  # hardware does not warn either
def round_to_bfloat16(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each number, ties to even, as float32 of the same shape.

    `x` is read as float32. Half of the step (0x8000) is added to the bits, one less where the upper
    half is even; then the lower half is cut off. Beyond 3.39e38 it carries into infinity. NaN stays
    NaN, with its sign.
    """
    x = np.array(x, dtype=np.float32)
    bits = x.reshape(-1).view(np.uint32)
    odd = (bits >> 16) & 1
    rounded = np.where(np.isnan(x.reshape(-1)), bits | 0x400000, bits + (odd + 0x7FFF))
    return (rounded & 0xFFFF0000).astype(np.uint32).view(np.float32).reshape(x.shape)


def fields(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sign (0 or 1), exponent e (0 to 255) and fraction (0 to 127) of x, rounded to bfloat16."""
    bits = round_to_bfloat16(x).view(np.uint32) >> 16
    return bits >> 15, (bits >> 7) & 0xFF, bits & 0x7F


@np.errstate(over="ignore", invalid="ignore")
def dot(x: np.ndarray, y: np.ndarray, accumulator: str = "float32") -> np.ndarray:
    """Dot products over the last axis, x[..., K], y[..., K] -> [...], as float32.

    Operands are rounded to bfloat16; the products are added one by one, k ascending, and the sum is
    kept in `accumulator`: "float32" (as in the matrix unit) or "bfloat16".
    """
    narrow = _known(accumulator) == "bfloat16"
    if not np.shape(x)[-1:] == np.shape(y)[-1:] != ():
        shapes = f"{np.shape(x)} and {np.shape(y)}"
        raise ValueError(f"dot: {shapes} do not fit; it takes x[..., K] and y[..., K].")
    x, y, total = round_to_bfloat16(x), round_to_bfloat16(y), np.float32(0)
    for k in range(x.shape[-1]):
        total = total + x[..., k] * y[..., k]
        total = round_to_bfloat16(total) if narrow else total
    return total


def matmul(a: np.ndarray, b: np.ndarray, accumulator: str = "float32") -> np.ndarray:
    """a[M,K] @ b[K,N] -> c[M,N] float32, each element a `dot`.

    It adds K outer products, so it suits small matrices: at most some hundred rows and columns.
    """
    a, b = round_to_bfloat16(a), round_to_bfloat16(b)
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
    rest, found = np.array(x, dtype=np.float32), []
    for _ in range(parts):
        found.append(round_to_bfloat16(rest))
        rest = rest - found[-1]  # exact: the leading bits cancel
    return np.array(found)


def matmul_split(a: np.ndarray, b: np.ndarray, parts: int = 2) -> np.ndarray:
    """a[M,K] @ b[K,N] of float32 numbers, made of bfloat16 products alone, smallest first.

    Of all pairs of parts those count whose product matters: i + j < parts. Two parts need three
    products (bf16x3), three need six (bf16x6).
    """
    left, right = split(a, parts), split(b, parts)
    pairs = [(i, s - i) for s in range(parts) for i in range(s + 1)]
    return sum(matmul(left[i], right[j]) for i, j in reversed(pairs))


def matmul_bf16x3(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`matmul_split` with two parts: three times the work, and 16 bits instead of 8."""
    return matmul_split(a, b, parts=2)


def error_bound(K: int, unit_roundoff: float) -> float:
    """gamma_K = K u / (1 - K u): what K roundings in a row can do at worst, relatively.

    N. Higham, Accuracy and Stability of Numerical Algorithms (2002), lemma 3.1. Infinite from
    K u = 1 on, where it promises nothing: with u = 2^-8, from K = 256 on.
    """
    worst = K * unit_roundoff
    return worst / (1 - worst) if worst < 1 else float("inf")


def dot_bound(K: int, accumulator: str = "float32") -> float:
    """The largest |error| / sum |x_k y_k| that `dot` may have (no overflow or underflow).

    (1 + 2^-8)^2 (1 + gamma_n) - 1: both operands are rounded, then the sum is, n times. In float32
    n = K - 1, since the first product is exact there; in bfloat16 n = K.
    """
    narrow = _known(accumulator) == "bfloat16"
    sums = error_bound(K, U_BFLOAT16) if narrow else error_bound(K - 1, U_FLOAT32)
    return (1 + U_BFLOAT16) ** 2 * (1 + sums) - 1


def convnet(
    weights: dict[str, np.ndarray], images: np.ndarray, product: Callable | None = None
) -> np.ndarray:
    """Logits[N,10] of the course's network, images[N,3,32,32], every layer one matrix product.

    product(a[M,K], b[K,N]) -> [M,N]; by default bfloat16 operands and float32 sums, as in the
    matrix unit. (The order of the sums is that of the CPU's library.) Bias, ReLU, pooling: float32.
    """
    product = product or (lambda a, b: round_to_bfloat16(a) @ round_to_bfloat16(b))
    parts = [images[n : n + 50] for n in range(0, len(images), 50)]  # they fit into the caches
    return np.concatenate([_logits(weights, part, product) for part in parts])


def _logits(weights: dict[str, np.ndarray], x: np.ndarray, product: Callable) -> np.ndarray:
    for layer in ("conv1", "conv2"):
        w, (N, _, H, W) = weights[f"{layer}.weight"], x.shape
        rows = Patches(x, w, stride=1, padding=1)[:, :]  # im2col
        y = product(rows, w.reshape(len(w), -1).T) + weights[f"{layer}.bias"]
        y = np.maximum(y, 0).reshape(N, H // 2, 2, W // 2, 2, len(w)).max(axis=(2, 4))
        x = y.transpose(0, 3, 1, 2)  # [N,K,H/2,W/2]
    hidden = product(x.reshape(len(x), -1), weights["fc1.weight"].T) + weights["fc1.bias"]
    return product(np.maximum(hidden, 0), weights["fc2.weight"].T) + weights["fc2.bias"]


def _known(accumulator: str) -> str:
    if accumulator not in ACCUMULATORS:
        raise ValueError(f"The accumulator is 'float32' or 'bfloat16', not {accumulator!r}.")
    return accumulator
