"""Wrong ideas of gpu.block_sum: x[n] -> total[0] = the sum of all x, by a tree in each block."""

import numpy as np

THREADS = 128  # of a block
ROUNDS = (64, 32, 16, 8, 4, 2, 1)


def in_blocks(x):
    """x as [blocks, threads], with zeros behind its end."""
    missing = -x.size % THREADS
    in_float64 = x.astype(np.float64)
    padded = np.pad(in_float64, (0, missing))
    return padded.reshape(-1, THREADS)


def sum_rounds(x, *rounds, add=np.add, one_neighbour=False):
    """The sum when the tree combines only at the distances `rounds`.

    add             how a partial sum and its neighbour are combined
    one_neighbour   all threads of a round take the number at `step`, none its own neighbour's
    """
    partial = in_blocks(x)
    for step in rounds:
        last = step + 1 if one_neighbour else 2 * step
        own = partial[:, :step]
        neighbours = partial[:, step:last]
        partial[:, :step] = add(own, neighbours)
    total = partial[:, 0].sum()
    return np.array([total], np.float32)


def first_block_only(x):
    """Block 0 adds up its numbers, every other one passes its first number on."""
    of_block = in_blocks(x)
    total = of_block[0].sum() + of_block[1:, 0].sum()
    return np.array([total], np.float32)
