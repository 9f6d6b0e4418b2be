"""Sizes of register tiles: which one to take, how many threads share it, how to launch it.

A tile is (BM, BN, BK): a block computes BM x BN results, BK products at a time. Each thread holds
TM x TN of the results in registers. Plain arithmetic; the kernels are made in `tile_factory`.

Dense: a line is the size of a tile, in all its letters.
"""

Tile = tuple[int, int, int]


def choose_tile(M: int, N: int) -> Tile:
    """The largest square tile that leaves work for all multiprocessors of a large GPU."""
    for size in (128, 64):
        blocks = -(-M // size) * -(-N // size)
        if blocks >= 128:
            return size, size, 8
    return 32, 32, 8


def threads_of(tile: Tile) -> int:
    """The threads of a block: each holds 8 x 8 results, or 4 x 4 if BM or BN is 32."""
    BM, BN, _ = tile
    results = 64 if min(BM, BN) >= 64 else 16  # of a thread
    return BM * BN // results


def results_of_thread(tile: Tile, block: int) -> tuple[int, int]:
    """TM and TN, rows and columns of results of one thread, 4 or 8; a warp is 4 x 8 threads.

    ValueError if the tile does not split evenly over `block` threads.
    """
    BM, BN, BK = tile
    if all(isinstance(size, int) and size > 0 for size in (*tile, block)):
        loads_split = BM * BK % block == 0 and BN * BK % block == 0
        for TM, TN in ((8, 8), (4, 8), (8, 4), (4, 4)):
            warps_fit = BM % (4 * TM) == 0 and BN % (8 * TN) == 0
            all_results = TM * TN * block == BM * BN
            if warps_fit and all_results and BK % 8 == 0 and loads_split:
                return TM, TN
    raise ValueError(
        f"A tile of {BM} x {BN} x {BK} does not split over {block} threads that hold 4 or 8 rows "
        "and columns each: choose BM and BN of 32, 64 or 128, BK 8 or 16, and no block."
    )


def launch_bounds(block: int) -> tuple[int, int]:
    """Threads of a block, and blocks of an SM that leave each thread 128 registers, or 168."""
    threads = 512 if block > 128 else 384  # of an SM, with 65,536 registers
    blocks = threads // block
    return block, blocks or 1


def grid_and_block(M: int, N: int, tile: Tile, splits: int = 1) -> tuple[tuple, int]:
    """Blocks (along N, along M, shares of K) and threads of a register tile for c[M, N]."""
    BM, BN, _ = tile
    grid = (-(-N // BN), -(-M // BM), splits)
    return grid, threads_of(tile)
