"""Wrong ideas of tpu.padded_bytes: shape, order (fastest first), tile, bytes an element -> bytes.

They may raise, as a learner's would.
"""

from collections.abc import Callable
from math import prod


def up(n, side):
    """n filled up to whole tiles, an array of sizes as well; as it should be."""
    return -(-n // side) * side


def filled_up(shape, order, tile, itemsize, rounding: Callable = up) -> int:
    """The bytes of a layout, in which `rounding(n, side)` fills one size up."""
    sizes = [int(n) for n in shape]
    for axis, side in zip(order, tile[::-1], strict=False):
        sizes[axis] = rounding(sizes[axis], side)
    return prod(sizes) * itemsize


def with_rounding(rounding: Callable) -> Callable:
    """A size is filled up to `rounding(n, side)`."""
    return lambda *layout: filled_up(*layout, rounding)


def with_order(change: Callable) -> Callable:
    """The axes lie in `change(order)`."""

    def wrong(shape, order, tile, itemsize):
        return filled_up(shape, change(order), tile, itemsize)

    return wrong


def with_tile(change: Callable) -> Callable:
    """The tile has the sizes `change(tile)`."""

    def wrong(shape, order, tile, itemsize):
        return filled_up(shape, order, change(tile), itemsize)

    return wrong


def first_axes(order):
    """The first axis as written is the fastest."""
    return range(len(order))


def as_written(order):
    """The last axis as written is the fastest."""
    return range(len(order))[::-1]


def slowest_first(order):
    """The order is read from its end."""
    return order[::-1]


def inverse(order):
    """At place i not the axis that lies there, but the place of axis i."""
    return [order.index(axis) for axis in range(len(order))]


def two_sizes_always(tile):
    """A tile of one size is laid over two axes."""
    return tile if len(tile) > 1 else (*tile, *tile)


def tiles_of(n, side):
    """How many tiles a size takes."""
    return -(-n // side)


def down(n, side):
    """What fills no tile is dropped."""
    return n // side * side


def to_the_nearest(n, side):
    """Less than half a tile is dropped."""
    return round(n / side) * side


def one_tile_more(n, side):
    """One tile more than full ones, always."""
    return (n // side + 1) * side


def all_axes(shape, order, tile, itemsize):
    """The tile's first size rounds all slower axes as well."""
    slower = len(order) - len(tile)
    sides = [tile[0]] * slower + [*tile]
    return filled_up(shape, order, sides, itemsize)


def tile_axes_alone(shape, order, tile, itemsize):
    """The slower axes are forgotten."""
    inside = [shape[axis] for axis in order[: len(tile)]]
    return filled_up(inside, range(len(inside)), tile, itemsize)


def rows_in_pairs(shape, order, tile, itemsize):
    """Narrow elements share a row of the tile, so that more rows fill one."""
    in_a_row = max(1, 4 // itemsize)
    rows = [n * in_a_row for n in tile[:-1]]
    return filled_up(shape, order, (*rows, tile[-1]), itemsize)


def padding_alone(shape, order, tile, itemsize):
    """The bytes of the elements are taken away."""
    own = prod(int(n) for n in shape) * itemsize
    return filled_up(shape, order, tile, itemsize) - own


def in_one_row(shape, order, tile, itemsize):
    """The elements lie one after the other, and only the last tile is filled up."""
    elements = prod(int(n) for n in shape)
    return up(elements, prod(tile)) * itemsize


def rounded_in_bytes(shape, order, tile, itemsize):
    """The fastest axis is filled up as if the tile counted bytes."""
    sizes = [int(n) for n in shape]
    fastest, *others = order
    sizes[fastest] *= itemsize
    return filled_up(sizes, (fastest, *others), tile, 1)


def elements(shape, order, tile, itemsize):
    """The elements of the padded array."""
    return filled_up(shape, order, tile, 1)
