"""Wrong ideas of tpu.kept_bytes: outputs [n], block -> bytes.

Dense: each takes all arguments of the right one, and is a formula, to be held against it.
"""

import numpy as np


def blocks_of(outputs, block):
    """The outputs of each block."""
    return [outputs[start : start + block] for start in range(0, len(outputs), block)]


def worst(blocks, kept=lambda own: own[-1]):
    """The most of what any block has with what is kept of those before."""
    before = 0
    found = []
    for own in blocks:
        found.append(before + own.sum())
        before += kept(own)
    return found


def all_outputs(outputs, block):
    """Nothing is dropped."""
    return int(outputs.sum())


def last_block(outputs, block):
    """The backward pass begins with the last block, so that is the worst."""
    return int(worst(blocks_of(outputs, block))[-1])


def largest_block_alone(outputs, block):
    """The ends of other blocks need no memory."""
    return int(max(own.sum() for own in blocks_of(outputs, block)))


def ends_alone(outputs, block):
    """What is computed again needs no memory."""
    return int(sum(own[-1] for own in blocks_of(outputs, block)))


def all_ends_and_largest_block(outputs, block):
    """The ends of all blocks, and once more a whole block."""
    return ends_alone(outputs, block) + largest_block_alone(outputs, block)


def first_ones_kept(outputs, block):
    """The first output of each block is kept."""
    return int(max(worst(blocks_of(outputs, block), lambda own: own[0])))


def so_many_blocks(outputs, block):
    """`block` is how many blocks there are."""
    parts = [own for own in np.array_split(outputs, block) if len(own)]
    return int(max(worst(parts)))


def short_block_dropped(outputs, block):
    """What fills no block is left out."""
    whole = [own for own in blocks_of(outputs, block) if len(own) == block]
    return int(max(worst(whole), default=0))


def short_block_first(outputs, block):
    """Blocks are counted from the end."""
    backwards = blocks_of(outputs[::-1], block)
    return int(max(worst([own[::-1] for own in backwards[::-1]])))


def summed_over_blocks(outputs, block):
    """All blocks are computed again at the same time."""
    return int(sum(worst(blocks_of(outputs, block))))


def whole_kib(outputs, block):
    """Rounded down to a multiple of 1,024."""
    return int(max(worst(blocks_of(outputs, block)))) // 1024 * 1024
