"""gpu.transpose_tiled: y = x.T through a tile in shared memory (lesson 01_gpu/2)."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from labkit.checks.cases.common import misconceptions
from labkit.checks.exercise import Case
from labkit.gpu import cuda
from labkit.gpu.exercises.launching import distinct, kernel_exercise, worst_line

TILE = 32


def cases(rng: np.random.Generator) -> Iterator[Case]:
    shapes = {"one tile": (32, 32), "one element": (1, 1), "prime sizes": (13, 29)}
    shapes |= {"four tiles": (64, 64), "wide": (20, 70), "tall": (96, 32)}
    for name, shape in shapes.items():
        yield Case(name, (distinct(rng, *shape),))


def launch(x):
    rows, cols = x.shape
    grid = -(-cols // TILE), -(-rows // TILE)
    return grid, (TILE, TILE), (np.zeros((cols, rows), np.float32),)


@cuda.jit
def transpose_tiled(x, y):
    tile = cuda.shared.array((TILE, TILE), "float32")
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[ty, tx] = x[row, col]
    cuda.syncthreads()
    row = cuda.blockIdx.x * TILE + ty
    col = cuda.blockIdx.y * TILE + tx
    if row < y.shape[0] and col < y.shape[1]:
        y[row, col] = tile[tx, ty]


def oracle(x):
    """y[j, i] = x[i, j]."""
    return x.T.copy()


def limit(profile: Any, inputs: tuple) -> str | None:
    """Loads and stores both along rows, and each element through the tile."""
    if min(inputs[0].shape) < TILE:
        return None
    for way in ("load", "store"):
        line, sectors = worst_line(profile, way)
        if sectors > 6:
            return (
                f"in line {line} a warp's {way} touches {sectors:.0f} sectors of global memory "
                "where 4 would do. Let neighbouring threads touch neighbouring columns on both "
                "sides; the turning happens in the tile."
            )
    return None


def _tiles(x, turn_tiles: bool, turn_inside: bool) -> np.ndarray:
    """x.T with one of its two halves left out: moving the tiles, and turning each one."""
    rows, cols = x.shape
    y = np.zeros((cols, rows), np.float32)
    for i in range(0, rows, TILE):
        for j in range(0, cols, TILE):
            tile = x[i : i + TILE, j : j + TILE]
            tile = tile.T if turn_inside else tile
            down, right = (j, i) if turn_tiles else (i, j)
            room = y[down : down + TILE, right : right + TILE]
            room[: tile.shape[0], : tile.shape[1]] = tile[: room.shape[0], : room.shape[1]]
    return y


def tiles_in_place(x):
    """Each tile is turned, but lands where it came from. The tile that was read at block (i, j) is
    written at block (j, i): in the output, blockIdx.x chooses the row."""
    return _tiles(x, turn_tiles=False, turn_inside=True)


def tiles_not_turned(x):
    """The tiles change places, but are not turned inside: read the tile with its two indices the
    other way round."""
    return _tiles(x, turn_tiles=True, turn_inside=False)


def copied(x):
    """This is a copy, not a transpose: neither the tiles nor what is in them is turned."""
    return _tiles(x, turn_tiles=False, turn_inside=False)


EXERCISES = [
    kernel_exercise(
        launch,
        transpose_tiled,
        cases,
        limit,
        id="gpu.transpose_tiled",
        oracle=oracle,
        outputs=("y",),
        hints=(
            "Two things turn: the tile moves from block (i, j) of x to block (j, i) of y, and the "
            "elements turn inside the tile.",
            "Everybody must have written the tile before anybody reads it. Where must the block "
            "wait?",
            "The tile is read the other way round from how it was written: the two indices of the "
            "line that fills it change places.",
        ),
        misconceptions=misconceptions(tiles_in_place, tiles_not_turned, copied),
        costs=(
            "global_load_sectors_per_request",
            "global_store_sectors_per_request",
            "bank_conflicts",
        ),
    )
]
