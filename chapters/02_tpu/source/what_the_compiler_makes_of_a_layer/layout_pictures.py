"""Pictures of what the TPU compiler makes of a layer: arrays cut into tiles, cycles in stairs.

    in_tiles((3, 5), (2, 4))        a small array in its tiles, and how they lie in memory
    one_tile(shape, {...}, "BHWC")  how much of a tile an array fills in one order or another
    stairs({...})                   cycles against the size K of a product

Blue is the array's own, pale is padding. Lesson what_the_compiler_makes_of_a_layer shows them.

Dense: a shape's place, size, colour and text stand in one call.
"""

from collections.abc import Mapping, Sequence
from math import ceil, prod

import numpy as np

from labkit.figures.shapes import bare, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, SKY, Axes, canvas, show

PLACES = 64  # of the largest array that `in_tiles` draws


def in_tiles(
    shape: tuple[int, int], tile: tuple[int, int], order: tuple[int, int] = (1, 0)
) -> None:
    """An array [rows, columns] in tiles, and its places in memory.

    `order` names the axes from the fastest to the slowest; the fastest lies from left to right.
    Each place says which element it holds, row and column; a place of padding says nothing.
    Raises ValueError for more than 64 places.
    """
    fastest, slowest = order
    tiles_down = ceil(shape[slowest] / tile[0])
    tiles_across = ceil(shape[fastest] / tile[1])
    down = tiles_down * tile[0]
    across = tiles_across * tile[1]
    places = down * across
    if places > PLACES:
        raise ValueError(f"{shape} takes {places} places; at most {PLACES} can be drawn.")

    def element(y: int, x: int) -> str:
        """The element in line y, place x of the stored array: nothing where it is padding."""
        if y >= shape[slowest] or x >= shape[fastest]:
            return ""
        return f"{y},{x}" if order == (1, 0) else f"{x},{y}"

    figure, (above, below) = canvas(7.5, 1.4 + 0.42 * down, 2, 1, height_ratios=[down, 1.6])
    for y, x in np.ndindex(down, across):
        _place(above, x, y, element(y, x))
    for number in range(tiles_down * tiles_across):
        left = number % tiles_across * tile[1]
        top = number // tiles_across * tile[0]
        _outline(above, left, top, tile[1], tile[0])
    bare(above, (-0.1, across + 0.1), (down + 0.1, -0.1), "equal")
    size = prod(tile)
    for number in range(tiles_down * tiles_across):
        for inside in range(size):
            y = number // tiles_across * tile[0] + inside // tile[1]
            x = number % tiles_across * tile[1] + inside % tile[1]
            _place(below, number * size + inside, 0, element(y, x), letters=6)
        _outline(below, number * size, 0, size, 1)
    bare(below, (-0.1, places + 0.1), (1.1, -0.1))
    below.set_title("in memory, one tile after the other", fontsize=9, loc="center")
    rows, columns = shape
    where = f"tiles of {tile[0]} x {tile[1]}, axis {fastest} fastest"
    above.set_title(f"[{rows}, {columns}] in {where}: {places} places", loc="center")
    show(
        figure,
        f"An array of {rows} rows and {columns} columns in {where}: it is stored as {down} lines "
        f"of {across}, {places} places for {rows * columns} elements. "
        "Below lie the tiles one after the other in memory, each with its padding.",
    )


def one_tile(
    shape: Sequence[int],
    orders: Mapping[str, Sequence[int]],
    letters: str,
    tile: tuple[int, int] = (8, 128),
) -> None:
    """One tile of an array for each of the orders, with what the array fills of it.

    `orders`   title: the axes from the fastest to the slowest
    `letters`  the names of the axes, one letter each: "BHWC"
    """
    figure, axes = canvas(7.5, 1.25 * len(orders), len(orders), 1)
    rows, columns = tile
    spoken = []
    for ax, (title, order) in zip(np.ravel(axes), orders.items(), strict=True):
        fastest, next_one = order[:2]
        across = min(shape[fastest], columns)
        down = min(shape[next_one], rows)
        _block(ax, 0, 0, columns, rows, PALE)
        _block(ax, 0, 0, across, down, BLUE)
        for x in range(1, columns):
            ax.plot([x, x], [0, rows], color=CARD, linewidth=0.3)
        for y in range(1, rows):
            ax.plot([0, columns], [y, y], color=CARD, linewidth=0.3)
        bare(ax, (-0.5, columns + 0.5), (rows + 0.5, -0.5))
        used = f"{across * down:,} of {rows * columns:,} places used"
        ax.set_title(f"{title}: {used}", loc="left", fontsize=10)
        along = f"axis {letters[fastest]} ({shape[fastest]}) along the {columns}"
        write(ax, columns / 2, rows + 0.8, along, 9, va="top")
        beside = f"axis {letters[next_one]} ({shape[next_one]})\nalong the {rows}"
        write(ax, -1.2, rows / 2, beside, 9, ha="right")
        spoken.append(f"{title}, axis {letters[fastest]} lies along the {columns}, {used}")
    show(
        figure,
        f"A tile of {rows} x {columns} in {len(orders)} orders: {'; '.join(spoken)}.",
    )


def stairs(counted: Mapping[int, int], compiled: Mapping[int, int], chip: str) -> None:
    """Cycles against the size K of a product.

    The compiler's cycles are points without a line, since nothing between them was compiled.

    `counted`    {K: cycles} of one simulated unit, a line
    `compiled`   {K: cycles} for the chip
    """
    figure, axes = canvas(7.5, 3.6)
    axes.plot(*_thousands(counted), color=ORANGE, label="one unit, counted")
    axes.plot(*_thousands(compiled), "o", color=BLUE, markersize=4, label=f"{chip}, compiled")
    last = max(compiled)
    axes.set_xlim(0, 1.02 * last)
    axes.set_ylim(bottom=0)
    axes.set_xticks(range(0, last + 1, 128))
    axes.grid(axis="x", color=PALE, linewidth=0.8)
    axes.set_xlabel("K, with a line at each multiple of 128")
    axes.set_ylabel("thousand cycles")
    axes.legend(fontsize=9, loc="upper left")
    spoken = [
        f"{name} from {min(cycles.values()):,} to {max(cycles.values()):,} ({word})"
        for name, cycles, word in (("one unit", counted, "counted"), (chip, compiled, "compiled"))
    ]
    steps = "level up to each multiple of 128, with a step just behind it"
    show(
        figure,
        f"Cycles against K from {min(counted)} to {last}: {'; '.join(spoken)}; {steps}.",
    )


def _thousands(line: Mapping[int, int]) -> tuple[list[int], list[float]]:
    """The sizes, and their cycles in thousands."""
    return list(line), [cycles / 1000 for cycles in line.values()]


def _place(ax: Axes, x: float, y: float, element: str, letters: float = 9) -> None:
    """One place of a tile with the element in it, or with none: padding."""
    _block(ax, x, y, 1, 1, SKY if element else PALE)
    _outline(ax, x, y, 1, 1, color=CARD, linewidth=1)
    write(ax, x + 0.5, y + 0.5, element, letters, color=INK)


def _block(ax: Axes, x: float, y: float, width: float, height: float, colour: str) -> None:
    right = x + width
    below = y + height
    ax.fill([x, right, right, x], [y, y, below, below], color=colour, linewidth=0)


def _outline(ax: Axes, x: float, y: float, width: float, height: float, **look: object) -> None:
    """The border of one tile, or as `look` has it."""
    right = x + width
    below = y + height
    look = look or {"color": INK, "linewidth": 1.6}
    ax.plot([x, right, right, x, x], [y, y, below, below, y], **look)
