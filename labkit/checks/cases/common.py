"""What the exercises share: what they forbid, and the sizes of the convolutions."""

LIBRARIES = ("torch", "tensorflow", "jax", "scipy", "labkit.reference", "labkit.convnet")

# Each pair of stride and padding has its own case, most of them with P != Q and R != S, so that
# no two of the letters can be taken for each other everywhere. Where nothing overlaps, C = P = Q:
# there a wrong order of axes gives wrong values instead of an error. A 1x1 kernel in a frame parts
# those who forget the frame from those who count it twice.
_CONVOLUTIONS = {  # name: shape of x [N,C,H,W], shape of w [K,C,R,S], stride, padding
    "prime sizes": ((2, 5, 13, 9), (3, 5, 3, 3), 1, 0),
    "all sizes 1": ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0),
    "ragged with stride and padding": ((1, 2, 8, 5), (3, 2, 3, 3), 2, 1),
    "non-square kernel": ((2, 3, 6, 9), (4, 3, 2, 3), 1, 0),
    "no overlap": ((2, 3, 6, 6), (4, 3, 2, 2), 2, 0),
    "1x1 kernel in a frame": ((1, 2, 4, 5), (3, 2, 1, 1), 1, 1),
    "tall kernel with padding": ((2, 3, 5, 8), (4, 3, 3, 2), 1, 1),
    "tall kernel with stride": ((1, 2, 9, 10), (3, 2, 3, 2), 2, 0),
    "wide kernel with large stride": ((2, 1, 9, 15), (3, 1, 2, 5), 3, 2),
    "stride larger than the kernel": ((2, 3, 8, 11), (4, 3, 1, 2), 3, 0),
    "padding as large as the kernel": ((2, 2, 4, 7), (3, 2, 2, 3), 2, 3),
    "image smaller than the kernel": ((1, 3, 2, 3), (2, 3, 3, 5), 1, 2),
    "like the network": ((2, 4, 6, 6), (3, 4, 3, 3), 1, 1),
}


def output_size(x_shape: tuple, R: int, S: int, stride: int, padding: int) -> tuple[int, int]:
    """P and Q of a convolution of x[N,C,H,W] with a kernel of R x S."""
    H, W = x_shape[2:]
    P = (H + 2 * padding - R) // stride + 1
    Q = (W + 2 * padding - S) // stride + 1
    return P, Q


CONVOLUTIONS = {  # the same, with the shape of y [N,K,P,Q] behind that of w
    name: (x, w, (x[0], w[0], *output_size(x, *w[2:], stride, padding)), stride, padding)
    for name, (x, w, stride, padding) in _CONVOLUTIONS.items()
}
