"""What a size takes in whole tiles of a side, right and wrong: integers, or arrays of them."""

import numpy as np


def tiles_of(n, side):
    """How many tiles a size takes."""
    return -(-n // side)


def up(n, side):
    """n filled up to whole tiles, an array of sizes as well; as it should be."""
    return tiles_of(n, side) * side


def down(n, side):
    """What fills no tile is dropped."""
    tiles = n // side
    return tiles * side


def up_by_reciprocals(n, side):
    """n times 1 / side may be a little more than a whole number."""
    return np.ceil(n * (1 / side)).astype(int) * side


def one_tile_more(n, side):
    """One tile more than full ones, always."""
    tiles = n // side + 1
    return tiles * side
