"""Pictures of a tiled product: which block is where in each step, and blocks beyond the edge.

    walk()            the eight steps of a 4 x 4 product in 2 x 2 blocks
    ragged(300, 128)  blocks along K, of which the last hangs over the edge

Lesson a_kernel_of_your_own shows them.

Dense: a call draws one shape, and its arguments are places.
"""

from itertools import product

from labkit.figures.shapes import bare, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, SKY, Axes, canvas, show
from labkit.tpu.tiled import block_indices

COLOURS = (SKY, ORANGE, BLUE)  # of the blocks of x, w and y


def walk() -> None:
    """Two steps a row, each with x, w and y and the block that the step works on."""
    figure, axes = canvas(7.2, 5.6, 4, 2)
    for panel, (i, j, k) in zip(axes.ravel(), product(range(2), repeat=3), strict=True):
        blocks = block_indices(i, j, k)
        for place, (name, block) in enumerate(zip("xwy", blocks, strict=True)):
            _matrix(panel, 5.6 * place, name, block, COLOURS[place])
        write(panel, 4.8, 2, "x", size=11)
        write(panel, 10.4, 2, "->", size=11)
        write(panel, 7.6, -1.5, f"step ({i},{j},{k})", size=9)
        bare(panel, (-0.4, 15.8), (4.4, -2.1), "equal")
    alt = (
        "Eight steps, each with the matrices x, w and y of 4 by 4 numbers in blocks of 2 by 2, one "
        "block of each marked. In step (i,j,k) it is block (i,k) of x, (k,j) of w and (i,j) of y."
    )
    show(figure, alt)


def _matrix(panel: Axes, left: float, name: str, block: tuple, colour: str) -> None:
    """A matrix of 2 x 2 blocks, one of them coloured, each with its row and column."""
    for row, column in product(range(2), repeat=2):
        chosen = (row, column) == block
        _box(panel, left + 2 * column, 2 * row, 2, 2, colour if chosen else PALE)
        ink = CARD if chosen and colour == BLUE else INK
        write(panel, left + 2 * column + 1, 2 * row + 1, f"{name}({row},{column})", 7, color=ink)


def _box(panel: Axes, left: float, top: float, width: float, height: float, colour: str) -> None:
    panel.fill(
        [left, left + width, left + width, left],
        [top, top, top + height, top + height],
        facecolor=colour,
        edgecolor=CARD,
        linewidth=1.5,
    )


def ragged(size: int, block: int) -> None:
    """A matrix of `size` columns and the blocks that cover it; what hangs over is orange."""
    figure, panel = canvas(7.2, 1.7)
    count = -(-size // block)
    for number in range(count):
        left = number * block
        inside = min(block, size - left)
        _box(panel, left, 0, inside, 1, SKY)
        if inside < block:
            _box(panel, left + inside, 0, block - inside, 1, ORANGE)
        write(panel, left + block / 2, -0.35, f"k = {number}", size=9)
        panel.plot([left, left], [-0.1, 1.1], color=INK, linewidth=1)
    panel.plot([count * block] * 2, [-0.1, 1.1], color=INK, linewidth=1)
    write(panel, 1.5 * block, 0.5, f"{size} columns of x", size=9)
    write(panel, (size + count * block) / 2, 0.5, f"{count * block - size}: not x", size=9)
    for edge in (*range(0, size, block), size, count * block):
        write(panel, edge, 1.4, str(edge), size=8)
    bare(panel, (-8, count * block + 8), (1.8, -0.8))
    alt = (
        f"Blocks of {block} columns cover {size} columns of x. The last block, k = {count - 1}, "
        f"hangs {count * block - size} columns over the edge, to column {count * block}."
    )
    show(figure, alt)
