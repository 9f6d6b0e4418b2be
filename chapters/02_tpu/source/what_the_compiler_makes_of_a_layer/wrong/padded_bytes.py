"""Wrong ideas of tpu.padded_bytes: shape, order (fastest first), tile, bytes an element -> bytes.

They may raise, as a learner's would.
"""

from collections.abc import Callable
from functools import partial
from math import prod

from labkit_lessons.tpu.what_the_compiler_makes_of_a_layer.wrong.shared import up


def filled_up(shape, order, tile, itemsize, rounding: Callable = up) -> int:
    """The bytes of a layout, in which `rounding(n, side)` fills one size up."""
    sizes = [int(n) for n in shape]
    fastest_side_first = tile[::-1]
    for axis, side in zip(order, fastest_side_first, strict=False):
        sizes[axis] = rounding(sizes[axis], side)
    return prod(sizes) * itemsize


def with_rounding(rounding: Callable) -> Callable:
    """A size is filled up to `rounding(n, side)`."""
    return partial(filled_up, rounding=rounding)


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


def by_mask(n, side):
    """The bits below the tile's size are cleared, which rounds for powers of two alone."""
    return (n + side - 1) & -side


def eight_rows(tile):
    """A tile of two sizes always has 8 rows."""
    return tile if len(tile) == 1 else (8, tile[1])


def longest_first(shape, order, tile, itemsize):
    """The longest axis is taken for the fastest."""
    by_length = sorted(range(len(shape)), key=lambda axis: -shape[axis])
    return filled_up(shape, by_length, tile, itemsize)


def first_axes(order):
    """The first axis as written is the fastest."""
    return range(len(order))


def as_written(order):
    """The last axis as written is the fastest."""
    as_numbered = range(len(order))
    return as_numbered[::-1]


def slowest_first(order):
    """The order is read from its end."""
    return order[::-1]


def inverse(order):
    """At place i not the axis that lies there, but the place of axis i."""
    axes = range(len(order))
    return [order.index(axis) for axis in axes]


def tile_swapped(tile):
    """The sizes of a tile change places."""
    return tile[::-1]


def fastest_only(tile):
    """Only the fastest axis is filled up."""
    return tile[-1:]


def fastest_kept(tile):
    """The fastest axis is not filled up."""
    slower = tile[:-1]
    return (*slower, 1)


def always_8_128(tile):
    """The tile that is given is not used."""
    return 8, 128


def two_sizes_always(tile):
    """A tile of one size is laid over two axes."""
    return tile if len(tile) > 1 else (*tile, *tile)


def no_padding(n, side):
    """Nothing is filled up."""
    return n


def to_the_nearest(n, side):
    """Less than half a tile is dropped."""
    tiles = round(n / side)
    return tiles * side


def elements_of(shape) -> int:
    """The elements of an array of this shape, without any padding."""
    return prod(int(n) for n in shape)


def all_axes(shape, order, tile, itemsize):
    """The tile's first size rounds all slower axes as well."""
    slower = len(order) - len(tile)
    slowest_side = tile[0]
    sides = [slowest_side] * slower + [*tile]
    return filled_up(shape, order, sides, itemsize)


def tile_axes_alone(shape, order, tile, itemsize):
    """The slower axes are forgotten."""
    tiled_axes = order[: len(tile)]
    inside = [shape[axis] for axis in tiled_axes]
    fastest_first = range(len(inside))
    return filled_up(inside, fastest_first, tile, itemsize)


def rows_in_pairs(shape, order, tile, itemsize):
    """Narrow elements share a row of the tile, so that more rows fill one."""
    in_a_row = max(1, 4 // itemsize)
    *rows, columns = tile
    more_rows = [n * in_a_row for n in rows]
    return filled_up(shape, order, (*more_rows, columns), itemsize)


def padding_alone(shape, order, tile, itemsize):
    """The bytes of the elements are taken away."""
    own = elements_of(shape) * itemsize
    padded = filled_up(shape, order, tile, itemsize)
    return padded - own


def in_one_row(shape, order, tile, itemsize):
    """The elements lie one after the other, and only the last tile is filled up."""
    of_a_tile = prod(tile)
    filled = up(elements_of(shape), of_a_tile)
    return filled * itemsize


def rounded_in_bytes(shape, order, tile, itemsize):
    """The fastest axis is filled up as if the tile counted bytes."""
    sizes = [int(n) for n in shape]
    fastest, *others = order
    sizes[fastest] *= itemsize
    return filled_up(sizes, (fastest, *others), tile, 1)


def elements(shape, order, tile, itemsize):
    """The elements of the padded array."""
    return filled_up(shape, order, tile, 1)
