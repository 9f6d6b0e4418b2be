"""The solutions of lesson 01_gpu/7_what_limits_a_kernel. Written by `labkit build` from

chapters/01_gpu/source/what_limits_a_kernel/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def blocks_that_fit(warps, registers, shared, sm):
    """warps [n] and shared bytes [n] of a block, registers [n] of a thread -> blocks [n]

    Entry i of every array belongs to kernel i.
    sm.warps, sm.registers, sm.shared_bytes and sm.blocks are what the SM has. `//` divides and
    drops the rest; np.minimum(x, y) takes the smaller of two, element by element.
    """
    by_warps = sm.warps // warps
    by_registers = sm.registers // (32 * warps * registers)
    by_shared = sm.shared_bytes // shared
    memory = np.minimum(by_registers, by_shared)
    needs = np.minimum(by_warps, memory)
    return np.minimum(needs, sm.blocks)


def estimated_share(intensity, passes, accesses, ridge):
    """intensity [n] and ridge in FLOP/B, passes [n], accesses [n] -> share of the peak [n], 0 to 1

    Passes and accesses are for each multiply-add of a warp. With 1 pass, the passes leave a
    quarter; with 1 access, the instructions leave a half.
    """
    memory = np.minimum(intensity / ridge, 1 / (4 * passes))
    return np.minimum(memory, 1 / (1 + accesses))


SOLUTIONS = {
    "gpu.blocks_that_fit": blocks_that_fit,
    "gpu.lowest_limit": estimated_share,
}
