"""cuda.cg.this_grid().sync(): all blocks wait for each other."""

import numpy as np
import pytest

from numba_simt import cuda, profile
from numba_simt.errors import KernelError


@cuda.jit
def rows_one_by_one(x):
    col = cuda.grid(1)
    grid = cuda.cg.this_grid()
    for row in range(1, x.shape[0]):
        x[row, col] = x[row - 1, x.shape[1] - col - 1] + 1
        grid.sync()


@cuda.jit
def without_waiting(x):
    col = cuda.grid(1)
    for row in range(1, x.shape[0]):
        x[row, col] = x[row - 1, x.shape[1] - col - 1] + 1


def test_each_row_is_written_after_the_one_above():
    x = np.zeros((20, 256), np.int32)
    rows_one_by_one[4, 64](x)
    np.testing.assert_array_equal(x, np.arange(20)[:, None] + np.zeros((20, 256), np.int32))
    assert not profile(rows_one_by_one, 4, 64, x).hazards
    assert {h.kind for h in profile(without_waiting, 4, 64, x).hazards} == {"race"}


@cuda.jit
def two_stages(x, out):
    part = cuda.shared.array(32, np.float64)
    i = cuda.threadIdx.x
    part[i] = x[cuda.grid(1)]
    cuda.syncthreads()
    if i == 0:
        out[cuda.blockIdx.x] = part.sum()
    cuda.cg.this_grid().sync()
    if cuda.grid(1) == 0:
        out[0] = out.sum()


@pytest.mark.parametrize("blocks", [1, 7, 200])
def test_sums_of_blocks_are_added_after_all_have_come(blocks):
    x, out = np.arange(32.0 * blocks), np.zeros(blocks)
    two_stages[blocks, 32](x, out)
    assert out[0] == x.sum()
    assert not profile(two_stages, blocks, 32, x, out).hazards


@cuda.jit
def one_block_ends(x):
    if cuda.blockIdx.x != 2:
        cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit
def half_a_block(x):
    if cuda.threadIdx.x < 32:
        cuda.cg.this_grid().sync()
    x[0] = 1


@cuda.jit
def asks_alone(x):
    cuda.cg.this_grid()
    x[0] = 1


def test_whoever_waits_for_a_block_that_does_not_come_is_told():
    with pytest.raises(KernelError, match=r"waits in .*block 2 .*does not come there"):
        one_block_ends[4, 64](np.zeros(1))
    with pytest.raises(KernelError, match="Barrier in divergent code"):
        half_a_block[2, 64](np.zeros(1))


def test_more_blocks_than_can_wait_for_each_other_are_refused():
    x = np.zeros(1)
    with pytest.raises(KernelError, match="1,024 at most: the grid has 1,025"):
        asks_alone[1025, 32](x)
    asks_alone[1024, 1](x)
    assert x[0] == 1
    (program,) = asks_alone.overloads.values()
    assert program.cooperative and program.max_cooperative_grid_blocks(32) == 1024
