"""What the exercises share: what they forbid, and the sizes of the convolutions."""

LIBRARIES = ("torch", "tensorflow", "jax", "scipy", "labkit.reference", "labkit.convnet")

_CONVOLUTIONS = {  # name: shape of x [N,C,H,W], shape of w [K,C,R,S], stride, padding
    "prime sizes": ((2, 5, 13, 9), (3, 5, 3, 3), 1, 0),
    "all sizes 1": ((1, 1, 1, 1), (1, 1, 1, 1), 1, 0),
    "ragged with stride and padding": ((1, 2, 8, 7), (3, 2, 3, 3), 2, 1),
    "non-square kernel": ((2, 1, 6, 9), (2, 1, 2, 3), 1, 0),
    "no overlap": ((3, 2, 6, 6), (4, 2, 2, 2), 2, 0),
    "wide kernel with large stride": ((1, 2, 9, 11), (2, 2, 2, 5), 3, 2),
    "like the network": ((2, 4, 6, 6), (3, 4, 3, 3), 1, 1),
}


def output_size(x_shape: tuple, R: int, S: int, stride: int, padding: int) -> tuple[int, int]:
    """P and Q of a convolution of x[N,C,H,W] with a kernel of R x S."""
    H, W = x_shape[2:]
    return (H + 2 * padding - R) // stride + 1, (W + 2 * padding - S) // stride + 1


CONVOLUTIONS = {  # the same, with the shape of y [N,K,P,Q] behind that of w
    name: (x, w, (x[0], w[0], *output_size(x, *w[2:], stride, padding)), stride, padding)
    for name, (x, w, stride, padding) in _CONVOLUTIONS.items()
}
