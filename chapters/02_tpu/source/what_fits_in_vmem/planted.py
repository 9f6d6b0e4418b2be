"""Wrong answers of lesson 02_tpu/7, written as a learner would, and what each must be told.

Each is a whole function, or a named edit of the lesson's solution (tests/exercises/edits.py).
"""

import numpy as np


def unchanged(x):
    return x


def in_place(x):
    x *= 2
    return x


def by_torch(x):
    import torch

    return (2 * torch.from_numpy(x)).numpy()


def by_sum(x):
    return x + x


# TO WRITE: at least four, each with a diagnosis of its own, whose words stand in no other's.
PLANTED = {
    "tpu.what_fits_in_vmem_double": [
        (unchanged, "the factor 2 is missing"),
        (in_place, "changes its input"),
        (by_torch, "torch"),
    ],
}

# TO WRITE: inputs on which a wrong answer is right, where it is right on none of the cases.
RIGHT_ON = {
    unchanged: (np.zeros(1),),
}

# TO WRITE: right answers of another kind, which pass.
ALSO_RIGHT = {
    "tpu.what_fits_in_vmem_double": [by_sum],
}
