"""Between blocks: flags, tickets, locks, and what no barrier holds for."""

import numpy as np
from numba import int32

from .. import cuda, f32, integers, zeros
from .pairs import PAIRS, N, Pair, mended, races, vector


def parts(r):
    return integers(r, 0, 9, 256), zeros(4, dtype=np.int64), zeros(1, dtype=np.int64)


def sum_of_parts(x, part, out):
    return [x.sum()]


@cuda.jit
def parts_of_blocks(x, part, out):
    cuda.atomic.add(part, cuda.blockIdx.x, x[cuda.grid(1)])


@races(r"split the kernel .*two launches", parts, sum_of_parts, grid=4)
@cuda.jit
def first_block_adds_up(x, part, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        for k in range(64):
            part[b] += x[b * 64 + k]
    if b == 0 and t == 0:
        for k in range(4):
            out[0] += part[k]


@mended(first_block_adds_up)
@cuda.jit
def first_block_adds_up_mended(x, part, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        for k in range(64):
            part[b] += x[b * 64 + k]


@mended(first_block_adds_up)
@cuda.jit
def adds_up_in_a_second_launch(x, part, out):
    if cuda.grid(1) == 0:
        for k in range(4):
            out[0] += part[k]


@races(
    r"cuda\.syncthreads\(\) waits for the own block only: split",
    lambda r: (f32(r, 128), zeros(128), zeros(128)),
    lambda x, y, out: 2 * x[::-1],
    grid=2,
)
@cuda.jit
def barrier_taken_for_one_of_the_grid(x, y, out):
    i = cuda.grid(1)
    y[i] = 2 * x[i]
    cuda.syncthreads()
    out[i] = y[127 - i]


@mended(barrier_taken_for_one_of_the_grid)
@cuda.jit
def barrier_of_the_grid_first(x, y, out):
    i = cuda.grid(1)
    y[i] = 2 * x[i]


@mended(barrier_taken_for_one_of_the_grid)
@cuda.jit
def barrier_of_the_grid_second(x, y, out):
    i = cuda.grid(1)
    out[i] = y[127 - i]


def last_block(waits, far, near):
    """The last block to come adds up the parts of all; what it waits and fences with is given."""

    @cuda.jit
    def adds_up(x, part, out):
        s = cuda.shared.array(1, int32)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        part[i] = x[i] + 1  # A
        if waits:
            cuda.syncthreads()
        if t == 0:
            if far:
                cuda.threadfence()  # F
            if near:
                cuda.threadfence_block()
            s[0] = cuda.atomic.add(out, 0, 1)  # B
        cuda.syncthreads()
        if s[0] == cuda.gridDim.x - 1:
            cuda.atomic.add(out, 1, part[i])
            cuda.atomic.add(out, 1, part[127 - i])

    return adds_up


def tickets(r):
    return integers(r, 0, 9, 128), zeros(128, dtype=np.int32), zeros(2, dtype=np.int32)


def ticket_total(x, part, out):
    return [2, (x + 1).sum()]


for name, how, cure in (
    (
        "ticket_without_fence",
        (True, False, False),
        r"cuda\.threadfence\(\) between line {A} and line {B}",
    ),
    (
        "ticket_with_a_near_fence",
        (True, False, True),
        r"own block, and these are in two: use cuda\.threadfence\(\)",
    ),
    (
        "ticket_before_all_have_written",
        (False, True, False),
        r"syncthreads\(\) between line {A} and the .* in line {F}",
    ),
):
    PAIRS[name] = Pair(last_block(*how), cure, tickets, ticket_total, 2, N)
    PAIRS[name].twins.append(last_block(True, True, False))


def handed(r):
    return f32(r, 8), zeros(1, dtype=np.int32), zeros(16)


def handed_over(x, flag, out):
    return np.concatenate([x, x[::-1]])


@races(r"cuda\.threadfence\(\) between line {A} and line {B}", handed, handed_over, grid=2, block=8)
@cuda.jit
def flag_without_fence(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]  # A
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)  # B
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
        cuda.syncthreads()
        out[8 + t] = out[7 - t]


@races(r"cuda\.syncthreads\(\) between line {C} and line {D}", handed, handed_over, grid=2, block=8)
@cuda.jit
def only_one_waits_for_the_flag(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:  # C
                pass
            cuda.threadfence()
        out[8 + t] = out[7 - t]  # D


@mended(flag_without_fence)
@mended(only_one_waits_for_the_flag)
@cuda.jit
def handed_over_by_a_flag(x, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        out[t] = x[t]
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence()
        cuda.syncthreads()
        out[8 + t] = out[7 - t]


@races(
    r"flag must be written and looked at by atomics",
    lambda r: (zeros(1, dtype=np.int32), zeros(1)),
    lambda flag, out: [1],
    grid=2,
    block=1,
)
@cuda.jit
def plain_flag(flag, out):
    if cuda.blockIdx.x == 0:
        flag[0] = 1
    else:
        while flag[0] == 0:
            pass
        out[0] = 1


@mended(plain_flag)
@cuda.jit
def plain_flag_mended(flag, out):
    if cuda.blockIdx.x == 0:
        cuda.threadfence()
        cuda.atomic.exch(flag, 0, 1)
    else:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence()
        out[0] = 1


@races(
    r"cuda\.threadfence\(\) after it is taken in line {A}.*cuda\.atomic\.add\(out, 0, ",
    lambda r: (zeros(1, dtype=np.int32), f32(r, 4), zeros(1)),
    lambda lock, x, out: [x.sum()],
    grid=4,
    block=1,
)
@cuda.jit
def lock_without_fences(lock, x, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:  # A
        pass
    out[0] += x[cuda.blockIdx.x]
    cuda.atomic.exch(lock, 0, 0)


@mended(lock_without_fences)
@cuda.jit
def lock_without_fences_mended(lock, x, out):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    out[0] += x[cuda.blockIdx.x]
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


@races(
    r"let one thread write it, or give each thread an element",
    vector(N, N // 2),
    lambda x, out: x[::2],
)
@cuda.jit
def two_writers(x, out):
    t = cuda.threadIdx.x
    out[t // 2] = x[t]


@mended(two_writers)
@cuda.jit
def two_writers_mended(x, out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        out[t // 2] = x[t]
