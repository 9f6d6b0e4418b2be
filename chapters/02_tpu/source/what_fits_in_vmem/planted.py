"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np
from jax.experimental.pallas import tpu as pltpu

from tests.exercises.edits import edit, solution

# --- tpu.vmem_bytes

memory = solution("tpu.vmem_bytes")
edited = partial(edit, "tpu.vmem_bytes")
memory_once = edited("memory_once", "2 * copied", "copied")
memory_all_twice = edited("memory_all_twice", "2 * copied + 4", "2 * copied + 8")
memory_without_bias = edited("memory_without_bias", " + 4 * bn\n", "\n")
memory_small_bias = edited("memory_small_bias", " + 4 * bn\n", " + itemsize * bn\n")
memory_small_total = edited("memory_small_total", "+ 4 * bm * bn", "+ itemsize * bm * bn")
memory_without_total = edited("memory_without_total", " + 4 * bm * bn", "")
memory_in_place = edited(
    "memory_in_place", "copied = ", "bm *= 1 + 0 * bk; bn += 0; bk[...] = 2 * bk; copied = "
)
KEPT = {}


def memory_y_once(bm, bk, bn, itemsize):
    return memory(bm, bk, bn, itemsize) - itemsize * bm * bn


def memory_in_int32(bm, bk, bn, itemsize):
    return memory(bm, bk, bn, itemsize).astype(np.int32)


def memory_remembered(bm, bk, bn, itemsize):
    return KEPT.setdefault((len(bm), itemsize), memory(bm, bk, bn, itemsize)).copy()


def memory_by_torch(bm, bk, bn, itemsize):
    import torch

    return torch.from_numpy(memory(bm, bk, bn, itemsize)).numpy()


def memory_in_floats(bm, bk, bn, itemsize):
    return np.array([float(one) for one in memory(bm, bk, bn, itemsize)])


# --- tpu.hbm_bytes

traffic = solution("tpu.hbm_bytes")
edited = partial(edit, "tpu.hbm_bytes")
traffic_swapped = edited(
    "traffic_swapped", "(N // bn)", "(M // bm)", ("K * N * (M // bm)", "K * N * (N // bn)")
)
traffic_y_always = edited("traffic_y_always", "y = M * N", "y = M * N * (K // bk)")
traffic_numbers = edited("traffic_numbers", "itemsize * (x + w + y)", "x + w + y")
traffic_without_y = edited("traffic_without_y", "x + w + y", "x + w")
traffic_once = edited("traffic_once", "x + w + y", "0 * bm + M * K + K * N + y")
traffic_by_k = edited("traffic_by_k", "(N // bn)", "(K // bk)", ("(M // bm)", "(K // bk)"))


def traffic_in_int32(M, K, N, bm, bk, bn, itemsize):
    return traffic(M, K, N, bm, bk, bn, itemsize).astype(np.int32)


def traffic_in_place(M, K, N, bm, bk, bn, itemsize):
    result = traffic(M, K, N, bm, bk, bn, itemsize)
    bk += 1
    return result


def traffic_remembered(M, K, N, bm, bk, bn, itemsize):
    return KEPT.setdefault((M, len(bm)), traffic(M, K, N, bm, bk, bn, itemsize)).copy()


def traffic_by_torch(M, K, N, bm, bk, bn, itemsize):
    import torch

    return torch.from_numpy(traffic(M, K, N, bm, bk, bn, itemsize)).numpy()


def traffic_by_steps(M, K, N, bm, bk, bn, itemsize):
    steps = (M // bm) * (K // bk) * (N // bn)
    return itemsize * (steps * (bm * bk + bk * bn) + M * N)


# --- tpu.double_by_hand

edited = partial(edit, "tpu.double_by_hand")
copies_unawaited = edited(
    "copies_unawaited", "    come.wait()\n", "", ("    go.wait()", "    go.wait()\n    come.wait()")
)
copies_left = edited("copies_left", "    go.wait()", "    pass")
copies_as_they_were = edited("copies_as_they_were", "2 * block", "1 * block")
copies_twice = edited("copies_twice", "2 * block", "2 * block[...] + 2 * block")
copies_squared = edited("copies_squared", "2 * block", "block[...] * block")
copies_plus = edited("copies_plus", "2 * block", "2 + block")


def copies_back(x, y, block, arrived, left):
    copies_by_sum(x, y, block, arrived, left)
    back = pltpu.make_async_copy(block, x, left)
    back.start()
    back.wait()


def copies_by_torch(x, y, block, arrived, left):
    import torch

    torch.tensor(1)
    copies_by_sum(x, y, block, arrived, left)


def copies_by_sum(x, y, block, arrived, left):
    come = pltpu.make_async_copy(x, block, arrived)
    come.start()
    come.wait()
    numbers = block[...]
    block[...] = numbers + numbers
    go = pltpu.make_async_copy(block, y, arrived)
    go.start()
    go.wait()


PLANTED = {
    "tpu.double_by_hand": [
        (copies_unawaited, "reads block while"),
        (copies_left, "The kernel ends while a copy"),
        (copies_as_they_were, "arrive as they were"),
        (copies_twice, "doubled twice"),
        (copies_squared, "multiplied by themselves"),
        (copies_plus, "2 is added"),
        (copies_back, "changes its input"),
        (copies_by_torch, "torch"),
    ],
    "tpu.vmem_bytes": [
        (memory_y_once, "y has one place"),
        (memory_all_twice, "total has two places"),
        (memory_without_bias, "The bias is missing"),
        (memory_small_bias, "The bias counts with itemsize"),
        (memory_small_total, "total counts with itemsize"),
        (memory_without_total, "total is missing"),
        (memory_once, "Each block has one place"),
        (memory_in_int32, "counted in 32 bits"),
        (memory_remembered, "something is kept from one call"),
        (memory_in_place, "changes its input"),
        (memory_by_torch, "torch"),
    ],
    "tpu.hbm_bytes": [
        (traffic_swapped, "x and w are swapped"),
        (traffic_y_always, "y is copied in every step"),
        (traffic_numbers, "These are numbers"),
        (traffic_without_y, "The result is missing"),
        (traffic_once, "Each matrix is copied once"),
        (traffic_by_k, "copied K / bk times"),
        (traffic_in_int32, "counted in 32 bits"),
        (traffic_remembered, "something is kept from one call"),
        (traffic_in_place, "changes its input"),
        (traffic_by_torch, "torch"),
    ],
}

ONE = np.array([3])
ZERO = np.zeros((2, 3), np.float32)
NONE = np.array([0])
RIGHT_ON = {
    memory_remembered: (ONE, ONE, ONE, 9),
    traffic_remembered: (6, 6, 6, ONE, ONE, ONE, 2),
    copies_as_they_were: (ZERO,),
    copies_twice: (ZERO,),
    copies_squared: (ZERO,),
    copies_plus: (ZERO + 2,),
}
RIGHT_ON |= {
    one: (NONE, NONE, NONE, 2)
    for one in (
        memory_once,
        memory_y_once,
        memory_all_twice,
        memory_without_bias,
        memory_small_bias,
        memory_small_total,
        memory_without_total,
        memory_in_place,
    )
}
RIGHT_ON |= {
    one: (0, 0, 0, ONE, ONE, ONE, 2)
    for one in (
        traffic_swapped,
        traffic_y_always,
        traffic_numbers,
        traffic_without_y,
        traffic_once,
        traffic_by_k,
        traffic_in_int32,
    )
}

ALSO_RIGHT = {
    "tpu.vmem_bytes": [memory_in_floats],
    "tpu.hbm_bytes": [traffic_by_steps],
    "tpu.double_by_hand": [copies_by_sum],
}
