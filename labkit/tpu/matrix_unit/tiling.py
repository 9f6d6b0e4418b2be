"""How a product is laid on the array: which axis lies where, and the tiles that it is cut into.

Which of the three numbers stays in its place names the dataflow:

    dataflow               stays in place   moves right      moves down     rows, columns, steps
    ws  weight stationary  B[k,n]           A, a row m       partial sums   K     N        M
    is  input stationary   A[m,k]           B, a column n    partial sums   K     M        N
    os  output stationary  partial sums     A, a column k    B, a row k     M     N        K

"is" is "ws" of the transposed product, C^T = B^T A^T. A matrix larger than the array is cut into
tiles; where it ends raggedly the tile is filled up with zeros, which take as long as numbers do.
Lesson what_a_grid_costs derives all of this.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# dataflow: the axis down the rows, the one along the columns, and the one that passes in time
AXES = {"ws": ("K", "N", "M"), "is": ("K", "M", "N"), "os": ("M", "N", "K")}


class Extent(NamedTuple):
    """The sizes of a[M,K] b[K,N] as the array meets them."""

    down: int  # of the axis down the rows
    along: int  # of the axis along the columns
    steps: int  # of the axis that passes in time: the steps of a tile


def extent(dataflow: str, M: int, K: int, N: int) -> Extent:
    """The sizes of a[M,K] b[K,N] in the roles that the dataflow gives them."""
    sizes = {"M": M, "K": K, "N": N}
    down, along, steps = AXES[dataflow]
    return Extent(sizes[down], sizes[along], sizes[steps])


def count_tiles(product: Extent, rows: int, cols: int) -> int:
    """How many tiles of rows × cols hold the product: ceil(down / rows) * ceil(along / cols)."""
    return -(-product.down // rows) * -(-product.along // cols)


@dataclass(frozen=True, eq=False)
class Tiles:
    """All tiles of a product in the order in which they run; every field is int [tiles]."""

    row: np.ndarray  # the first row of the tile, on the axis down
    col: np.ndarray  # its first column, on the axis along
    height: np.ndarray  # the rows that it fills; fewer than the array has where the matrix ends
    width: np.ndarray  # the columns that it fills

    def __len__(self) -> int:
        return len(self.row)


def cut(product: Extent, rows: int, cols: int) -> Tiles:
    """The tiles of a product on rows × cols elements.

    They follow each other down the rows first, so that in "ws" and "is" K runs innermost.
    """
    places = np.mgrid[0 : product.along : cols, 0 : product.down : rows]
    col, row = places.reshape(2, -1)
    height = np.minimum(rows, product.down - row)
    width = np.minimum(cols, product.along - col)
    return Tiles(row, col, height, width)
