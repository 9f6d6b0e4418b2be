"""What wrong ideas of several exercises share."""

import numpy as np


def cut(x: np.ndarray) -> np.ndarray:
    """The next bfloat16 towards 0 of each number, as float32."""
    bits = x.view(np.uint32) & np.uint32(0xFFFF0000)
    return bits.view(np.float32)


def float16(x):
    """The other format of 16 bits."""
    return x.astype(np.float16).astype(np.float32)
