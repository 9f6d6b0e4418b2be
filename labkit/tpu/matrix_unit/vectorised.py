"""A systolic array without its registers: the same sums in the same order, the same occupancy."""

from functools import lru_cache

import numpy as np

from labkit.tpu.matrix_unit.patches import Patches
from labkit.tpu.matrix_unit.tiling import Extent, Tiles


@lru_cache
def wavefront(rows: int, cols: int, steps: int) -> np.ndarray:
    """How many elements work in each cycle while `steps` numbers run through rows × cols of them.

    Step m meets element (r,c) in cycle m + r + c. So the count in cycle t is that of the triples
    (m,r,c) with the sum t: the convolution of three rows of ones, int [rows + cols + steps - 2].
    """
    wave = np.ones(1, int)
    for size in (rows, cols, steps):  # convolved with ones: each the sum of the last `size`
        total = np.cumsum(np.pad(wave, (0, size - 1)))
        before = np.pad(total, (size, 0))[: len(total)]
        wave = total - before
    wave.flags.writeable = False  # kept, and shared by all tiles of this shape
    return wave


def occupancy_by_cycle(
    product: Extent, tiles: Tiles, rows: int, cols: int, load: int, double_buffer: bool
) -> np.ndarray:
    """How many elements do a useful multiply-add, int [cycles]: the waves of all tiles.

    Before the first wave `load` cycles take in the weights: those of every tile, or of the first
    alone in a double-buffered array, where the other waves follow as soon as theirs are there.
    """
    through = len(wavefront(rows, cols, product.steps))  # padding takes as long as numbers
    distance = max(product.steps, rows) if double_buffer else load + through
    occupancy = np.zeros(load + distance * (len(tiles) - 1) + through, int)
    start = load
    for height, width in zip(tiles.height.tolist(), tiles.width.tolist(), strict=True):
        wave = wavefront(height, width, product.steps)
        occupancy[start : start + len(wave)] += wave
        start += distance
    return occupancy


def multiply(
    a: "np.ndarray | Patches",
    b: np.ndarray,
    depth: int,
) -> np.ndarray:
    """a[M,K] b[K,N], summed as the array does: k ascending within `depth`, then over the tiles.

    float32 sums depend on that order to the last bit. int32 sums do not, since they wrap round, so
    that BLAS may compute them in its own order in float64, which holds them exactly.
    """
    M, K = a.shape
    total = np.zeros((M, b.shape[1]), b.dtype)
    for k in range(0, K, depth):
        left = a[:, k : k + depth]
        right = b[k : k + depth]
        if b.dtype == np.int32:
            part = (left.astype(float) @ right.astype(float)).astype(np.int64)
        else:
            part = _in_order(left, right)
        total += part.astype(b.dtype)  # too large a sum of integers wraps round
    return total


def _in_order(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The product of float32 matrices, k ascending: a sum of outer products."""
    total = 0
    for column, row in zip(left.T, right, strict=True):
        total = total + column[:, None] * row
    return total
