"""The shapes on which every convolution exercise is tried, and the libraries it may not call.

Letters as in labkit.reference: x[N,C,H,W], w[K,C,R,S], y[N,K,P,Q].
"""

from collections.abc import Iterator

LIBRARIES = ("torch", "tensorflow", "jax", "scipy", "labkit.reference", "labkit.convnet")

_SHAPES = (  # name, N, C, H, W, K, R, S, stride, padding
    ("prime sizes", 2, 5, 13, 9, 3, 3, 3, 1, 0),
    ("all sizes 1", 1, 1, 1, 1, 1, 1, 1, 1, 0),
    ("ragged, strided, padded", 1, 2, 8, 7, 3, 3, 3, 2, 1),
    ("non-square kernel", 2, 1, 6, 9, 2, 2, 3, 1, 0),
    ("no overlap", 3, 2, 6, 6, 4, 2, 2, 2, 0),
    ("like the network", 2, 4, 6, 6, 3, 3, 3, 1, 1),
)


def convolution_shapes() -> Iterator[tuple]:
    """Yield (name, N, C, H, W, K, R, S, stride, padding, P, Q): ones, primes, ragged, several."""
    for name, n, c, h, w, k, r, s, stride, padding in _SHAPES:
        p, q = (h + 2 * padding - r) // stride + 1, (w + 2 * padding - s) // stride + 1
        yield name, n, c, h, w, k, r, s, stride, padding, p, q
