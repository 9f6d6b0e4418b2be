"""What wrong ideas of several exercises on bfloat16 share."""

import numpy as np


def float16(x):
    """The other format of 16 bits."""
    return x.astype(np.float16).astype(np.float32)
