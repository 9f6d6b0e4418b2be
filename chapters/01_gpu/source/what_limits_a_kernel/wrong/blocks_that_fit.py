"""Wrong ideas of gpu.blocks_that_fit: how many blocks of n kernels an SM holds at a time.

`needs` stands for warps [n] and shared bytes [n] of a block, registers [n] of a thread, and the SM.
"""

from collections.abc import Callable

import numpy as np

from labkit.gpu.occupancy_limits import Multiprocessor

LANES = 32  # threads of a warp
SM_OF_THE_TEXT = Multiprocessor(warps=48, blocks=16, registers=65536, shared_bytes=102400)


def limits(warps, registers, shared, sm) -> dict[str, np.ndarray]:
    """The blocks that each of the four limits allows, before any rounding."""
    return {
        "warps": sm.warps / warps,
        "registers": sm.registers / (LANES * warps * registers),
        "shared": sm.shared_bytes / shared,
        "blocks": np.full(len(warps), float(sm.blocks)),
    }


def least(allowed: dict[str, np.ndarray], rounding: Callable = np.floor) -> np.ndarray:
    """The least of several limits, kernel by kernel, in whole blocks."""
    smallest = np.minimum.reduce([*allowed.values()])
    return rounding(smallest)


# Another choice among the four


def without(name: str) -> Callable:
    """The least of the other three."""

    def wrong(*needs):
        allowed = limits(*needs)
        del allowed[name]
        return least(allowed)

    return wrong


def highest(*needs):
    """The most that any limit allows."""
    allowed = limits(*needs)
    largest = np.maximum.reduce([*allowed.values()])
    return np.floor(largest)


# Another rounding, or another unit


def with_rounding(rounding: Callable) -> Callable:
    """The least of the four, rounded in another way."""

    def wrong(*needs):
        return least(limits(*needs), rounding)

    return wrong


def one_at_least(*needs):
    """A block that is too large is there all the same."""
    fit = least(limits(*needs))
    return np.maximum(fit, 1)


def warps_of_them(warps, registers, shared, sm):
    """The warps that are there, not the blocks."""
    fit = least(limits(warps, registers, shared, sm))
    return fit * warps


def occupancy(warps, registers, shared, sm):
    """The warps that are there, of those that could be."""
    there = warps_of_them(warps, registers, shared, sm)
    return there / sm.warps


# One of the four from a wrong formula


def least_with(name: str, limit: Callable) -> Callable:
    """The least of the four, of which one is limit(warps, registers, shared, sm)."""

    def wrong(*needs):
        allowed = limits(*needs)
        allowed[name] = limit(*needs)
        return least(allowed)

    return wrong


def registers_of_a_thread(warps, registers, shared, sm):
    """Registers: the block has one thread."""
    return sm.registers / registers


def registers_of_a_warp(warps, registers, shared, sm):
    """Registers: the block has one warp."""
    return sm.registers / (LANES * registers)


def registers_of_a_lane(warps, registers, shared, sm):
    """Registers: each warp has one thread."""
    return sm.registers / (warps * registers)


def in_portions(warps, registers, shared, sm):
    """Registers: a warp takes them in portions of 256, as the hardware does."""
    rounded = 256 * np.ceil(LANES * registers / 256)
    return sm.registers / (warps * rounded)


def threads_for_warps(warps, registers, shared, sm):
    """Warps: the threads of a block are held against the warps of the SM."""
    return sm.warps / (LANES * warps)


def shared_of_each_warp(warps, registers, shared, sm):
    """Shared memory: each warp takes as much as the block."""
    return sm.shared_bytes / (warps * shared)


# Another SM than the one that is given


def sm_of_the_text(warps, registers, shared, sm):
    """The limits of the table, those of an A6000, whatever is given."""
    return least(limits(warps, registers, shared, SM_OF_THE_TEXT))


def blocks_of_the_text(warps, registers, shared, sm):
    """Blocks: at most as many as in the table."""
    return np.full(len(warps), float(SM_OF_THE_TEXT.blocks))


IDEAS = {
    "without_warps": without("warps"),
    "without_registers": without("registers"),
    "without_shared": without("shared"),
    "without_blocks": without("blocks"),
    "highest": highest,
    "rounded_up": with_rounding(np.ceil),
    "rounded": with_rounding(np.round),
    "parts_of_blocks": with_rounding(np.asarray),
    "one_at_least": one_at_least,
    "warps_of_them": warps_of_them,
    "occupancy": occupancy,
    "registers_of_a_thread": least_with("registers", registers_of_a_thread),
    "registers_of_a_warp": least_with("registers", registers_of_a_warp),
    "registers_of_a_lane": least_with("registers", registers_of_a_lane),
    "in_portions": least_with("registers", in_portions),
    "threads_for_warps": least_with("warps", threads_for_warps),
    "sm_of_the_text": sm_of_the_text,
    "blocks_of_the_text": least_with("blocks", blocks_of_the_text),
    "shared_of_each_warp": least_with("shared", shared_of_each_warp),
}
