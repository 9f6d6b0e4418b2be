"""tile_parts.py: edges are zero, tiles are whole, each place is written once."""

import numpy as np
import pytest

from labkit.gpu import cuda, profile
from labkit_lessons.gpu.tiles.tile_parts import fetch_or_zero, next_tiles, set_to_zero, write_patch


@cuda.jit
def fetch_all(matrix, out):
    column, row = cuda.grid(2)
    out[row, column] = fetch_or_zero(matrix, row, column)


@cuda.jit
def copy_tiles(a, b, start, of_a, of_b):
    a_tile = cuda.shared.array((64, 32), "float32")
    b_tile = cuda.shared.array((32, 64), "float32")
    next_tiles(a, b, start, a_tile, b_tile)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    for row in range(ty, 64, 8):
        of_a[row, tx] = a_tile[row, tx]
    for row in range(ty, 32, 8):
        of_b[row, tx] = b_tile[row, tx]
        of_b[row, tx + 32] = b_tile[row, tx + 32]


@cuda.jit
def name_places(c):
    total = cuda.local.array((8, 2), "float32")
    set_to_zero(total)
    for i in range(8):
        for j in range(2):
            total[i, j] += 64 * (cuda.threadIdx.y + 8 * i) + cuda.threadIdx.x + 32 * j
    write_patch(total, c)


def padded(matrix, rows, columns):
    """The first rows and columns of the matrix, with zeros where it has none."""
    out = np.zeros((rows, columns), np.float32)
    part = matrix[:rows, :columns]
    out[: part.shape[0], : part.shape[1]] = part
    return out


def test_beyond_an_edge_is_zero():
    matrix = np.arange(1, 36, dtype=np.float32).reshape(5, 7)
    out = np.full((8, 32), 9, np.float32)
    p = profile(fetch_all, 1, (32, 8), matrix, out)
    assert not p.hazards
    assert np.array_equal(out, padded(matrix, 8, 32))


@pytest.mark.parametrize("start", [0, 32])
def test_both_tiles_are_filled_from_start_on(start):
    random = np.random.default_rng(0)
    a = random.standard_normal((50, 40), dtype=np.float32)
    b = random.standard_normal((40, 60), dtype=np.float32)
    of_a = np.zeros((64, 32), np.float32)
    of_b = np.zeros((32, 64), np.float32)
    p = profile(copy_tiles, 1, (32, 8), a, b, start, of_a, of_b)
    assert not p.hazards
    assert np.array_equal(of_a, padded(a[:, start:], 64, 32))
    assert np.array_equal(of_b, padded(b[start:], 32, 64))


@pytest.mark.parametrize("shape", [(64, 64), (1, 1), (37, 53)])
def test_a_patch_is_written_to_its_places_inside(shape):
    c = np.full(shape, -1, np.float32)
    p = profile(name_places, 1, (32, 8), c)
    assert not p.hazards
    assert p.counters["global_store_bytes"] == c.nbytes
    whole = np.arange(64 * 64, dtype=np.float32).reshape(64, 64)
    assert np.array_equal(c, whole[: shape[0], : shape[1]])
