"""A kernel that asserts; in a file of its own, since pytest rewrites the `assert`s of its tests."""

from numba_simt import cuda


class OurError(Exception):
    """An exception with a constructor of its own."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def raises(x):
    i = cuda.grid(1)
    if x[i] > 3:
        raise OurError("too large", 5)
    assert x[i] < 3, "three"
    x[i] = -1
