"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from labkit.gpu.occupancy_limits import Multiprocessor
from tests.exercises.edits import edit

# --- gpu.blocks_that_fit

fit = partial(edit, "gpu.blocks_that_fit")
smallest_of_all = fit(
    "smallest_of_all",
    "np.minimum(needs, sm.blocks)",
    "np.full(len(warps), min(needs.min(), sm.blocks))",
)
LAST = "np.minimum(needs, sm.blocks)"
endless_blocks = fit("endless_blocks", LAST, "needs")
any_registers = fit("any_registers", "np.minimum(by_registers, by_shared)", "by_shared")
any_shared = fit("any_shared", "np.minimum(by_registers, by_shared)", "by_registers")
any_warps = fit("any_warps", "np.minimum(by_warps, memory)", "memory")
one_lane = fit("one_lane", "32 * warps * registers", "warps * registers")
one_warp = fit("one_warp", "32 * warps * registers", "32 * registers")
one_thread = fit("one_thread", "32 * warps * registers", "registers")
in_parts = fit(
    "in_parts",
    "sm.warps // warps",
    "sm.warps / warps",
    ("sm.registers // (32", "sm.registers / (32"),
    ("sm.shared_bytes // shared", "sm.shared_bytes / shared"),
)
as_warps = fit("as_warps", LAST, f"warps * {LAST}")
as_share = fit("as_share", LAST, f"warps * {LAST} / sm.warps")
never_none = fit("never_none", LAST, f"np.maximum({LAST}, 1)")
turned_over = fit("turned_over", "sm.warps // warps", "warps // sm.warps")
in_portions_of_256 = fit(
    "in_portions_of_256", "32 * warps * registers", "warps * 256 * np.ceil(registers / 8)"
)
by_threads = fit("by_threads", "sm.warps // warps", "sm.warps // (32 * warps)")


def most_that_fit(warps, registers, shared, sm):
    by_registers = sm.registers // (32 * warps * registers)
    memory = np.maximum(by_registers, sm.shared_bytes // shared)
    return np.maximum(np.maximum(memory, sm.warps // warps), sm.blocks)


def up_to_the_next(warps, registers, shared, sm):
    parts = [sm.warps / warps, sm.registers / (32 * warps * registers), sm.shared_bytes / shared]
    return np.minimum(np.ceil(np.minimum.reduce(parts)), sm.blocks).astype(int)


on_the_a6000 = fit(
    "on_the_a6000",
    "sm.warps //",
    "48 //",
    ("sm.registers //", "65536 //"),
    ("sm.shared_bytes //", "102400 //"),
    (LAST, "np.minimum(needs, 16)"),
)
sixteen_blocks = fit("sixteen_blocks", LAST, "np.minimum(needs, 16)")
to_the_nearest = fit(
    "to_the_nearest",
    "sm.warps // warps",
    "np.round(sm.warps / warps)",
    (
        "sm.registers // (32 * warps * registers)",
        "np.round(sm.registers / (32 * warps * registers))",
    ),
    ("sm.shared_bytes // shared", "np.round(sm.shared_bytes / shared)"),
)


def kernel_by_kernel(warps, registers, shared, sm):
    needs = zip(warps.tolist(), registers.tolist(), shared.tolist(), strict=True)
    return np.array(
        [
            min(sm.warps // w, sm.registers // 32 // w // r, sm.shared_bytes // s, sm.blocks)
            for w, r, s in needs
        ]
    )


def warps_first(warps, registers, shared, sm):
    held = np.minimum(sm.warps, np.floor(sm.registers / (32 * registers)))
    return np.min([held // warps, sm.shared_bytes // shared, 0 * warps + sm.blocks], axis=0)


_KEPT_FIT = {}


def fit_remembered_by_kernels(warps, registers, shared, sm):
    fits = np.minimum(sm.warps // warps, sm.registers // (32 * warps * registers))
    fits = np.minimum(np.minimum(fits, sm.shared_bytes // shared), sm.blocks)
    return _KEPT_FIT.setdefault(len(warps), fits)


def fit_in_place(warps, registers, shared, sm):
    registers *= 32 * warps
    memory = np.minimum(sm.registers // registers, sm.shared_bytes // shared)
    return np.minimum(np.minimum(sm.warps // warps, memory), sm.blocks)


def fit_by_torch(warps, registers, shared, sm):
    import torch

    by_registers = sm.registers // (32 * warps * registers)
    limits = np.stack([sm.warps // warps, by_registers, sm.shared_bytes // shared])
    return np.minimum(torch.amin(torch.from_numpy(limits), 0).numpy(), sm.blocks)


# --- gpu.lowest_limit

share = partial(edit, "gpu.lowest_limit")
without_instructions = share(
    "without_instructions", "np.minimum(memory, 1 / (1 + accesses))", "memory"
)
TRAFFIC_AND_PASSES = "np.minimum(intensity / ridge, 1 / (4 * passes))"
without_traffic = share("without_traffic", TRAFFIC_AND_PASSES, "1 / (4 * passes)")
without_passes = share("without_passes", TRAFFIC_AND_PASSES, "intensity / ridge")
of_one_pass = share("of_one_pass", "(4 * passes)", "passes")
of_full_issue = share("of_full_issue", "(1 + accesses)", "accesses")
halved_by_each = share("halved_by_each", "(1 + accesses)", "(2 * accesses)")
of_ridge = share("of_ridge", "intensity / ridge", "ridge / intensity")
of_plain_intensity = share("of_plain_intensity", "intensity / ridge", "intensity")
growing_with_passes = share("growing_with_passes", "1 / (4 * passes)", "passes / 4")
of_memory_accesses = share("of_memory_accesses", "1 / (1 + acc", "accesses / (1 + acc")


of_ridge_50 = share("of_ridge_50", "intensity / ridge", "intensity / 50")
of_passes_and_one = share("of_passes_and_one", "(4 * passes)", "(4 * (1 + passes))")


def by_the_longest_time(intensity, passes, accesses, ridge):
    return 1 / np.max([ridge / intensity, 4 * passes, 1 + accesses], axis=0)


def share_by_share(intensity, passes, accesses, ridge):
    counts = zip(intensity, passes, accesses, strict=True)
    return np.array([min(i / ridge, 0.25 / p, 1 / (1 + a)) for i, p, a in counts])


_KEPT_SHARE = {}


def share_remembered(intensity, passes, accesses, ridge):
    found = share_by_share(intensity, passes, accesses, ridge)
    return _KEPT_SHARE.setdefault((len(passes), ridge), found)


def of_traffic(intensity, passes, accesses, ridge):
    return intensity / ridge


def multiplied(intensity, passes, accesses, ridge):
    return intensity / ridge / (4 * passes) / (1 + accesses)


def of_all_times(intensity, passes, accesses, ridge):
    return 1 / (ridge / intensity + 4 * passes + 1 + accesses)


def at_best(intensity, passes, accesses, ridge):
    return np.maximum(np.maximum(intensity / ridge, 0.25 / passes), 1 / (1 + accesses))


def by_if(intensity, passes, accesses, ridge):
    """Where two estimates are equal, neither is smaller than the other."""
    share = np.empty(len(passes))
    for i in range(len(passes)):
        traffic, banks = intensity[i] / ridge, 0.25 / passes[i]
        instructions = 1 / (1 + accesses[i])
        if traffic < banks and traffic < instructions:
            share[i] = traffic
        elif banks < traffic and banks < instructions:
            share[i] = banks
        else:
            share[i] = instructions
    return share


def share_in_place(intensity, passes, accesses, ridge):
    intensity /= ridge
    return np.minimum(np.minimum(intensity, 0.25 / passes), 1 / (1 + accesses))


def by_torch(intensity, passes, accesses, ridge):
    import torch

    limits = np.stack([intensity / ridge, 0.25 / passes, 1 / (1 + accesses)])
    return torch.amin(torch.from_numpy(limits), 0).numpy()


PLANTED = {
    "gpu.blocks_that_fit": [
        (turned_over, "every value is 0, in all cases"),
        (endless_blocks, "small blocks would fit without end"),
        (any_registers, "The registers have no say"),
        (any_shared, "The shared memory has no say"),
        (any_warps, "The places for warps have no say"),
        (one_lane, "Each warp has 32 threads"),
        (one_warp, "The registers of one warp are taken"),
        (one_thread, "The registers of one thread are taken"),
        (in_parts, "These are parts of blocks"),
        (as_warps, "These are the warps on the SM"),
        (as_share, "This is the occupancy"),
        (never_none, "but it fits 0 times"),
        (in_portions_of_256, "rounded up to portions of 256"),
        (by_threads, "Threads are held against warps"),
        (most_that_fit, "This is the most that any of the limits allows"),
        (up_to_the_next, "The quotients are rounded up"),
        (on_the_a6000, "the blocks that fit on the A6000's SM"),
        (sixteen_blocks, "No more than 16 blocks are let in"),
        (to_the_nearest, "rounded to the nearest number"),
        (fit_remembered_by_kernels, "kept from one call to the next"),
        (fit_in_place, "changes its input"),
        (fit_by_torch, "torch"),
        (smallest_of_all, "the smallest of those that are asked for"),
    ],
    "gpu.lowest_limit": [
        (of_traffic, "Only the traffic counts here"),
        (without_instructions, "The instructions have no say"),
        (without_traffic, "The traffic has no say"),
        (without_passes, "The passes have no say"),
        (of_one_pass, "In the clock of one pass"),
        (multiplied, "The three estimates are multiplied"),
        (of_full_issue, "The multiply-add itself is an instruction too"),
        (halved_by_each, "One access leaves a half, but three leave a quarter"),
        (of_all_times, "The three times are added up"),
        (of_ridge, "The estimate of the traffic is upside down"),
        (of_plain_intensity, "The intensity itself is taken for a share"),
        (growing_with_passes, "The estimate of the passes is upside down"),
        (at_best, "This is the highest of the three estimates"),
        (of_memory_accesses, "This is the share of the accesses"),
        (by_if, "Where two estimates are equal"),
        (of_ridge_50, "The ridge is 50 here"),
        (of_passes_and_one, "A 1 is added to the passes"),
        (share_remembered, "kept from one call to the next"),
        (share_in_place, "changes its input"),
        (by_torch, "torch"),
    ],
}
ALSO_RIGHT = {
    "gpu.blocks_that_fit": [kernel_by_kernel, warps_first],
    "gpu.lowest_limit": [by_the_longest_time, share_by_share],
}

FULL = np.full(3, 50.4)  # at the ridge
NEITHER = (FULL, np.full(3, 0.25), np.zeros(3), 50.4)  # each of the three leaves all of the peak
HALF = (FULL, np.full(3, 0.25), np.ones(3), 50.4)
QUARTER = (FULL, np.ones(3), np.zeros(3), 50.4)
SLOW = (FULL * 1e-9, np.full(3, 1e-9), np.zeros(3), 50.4)  # next to nothing but traffic


A6000 = Multiprocessor(48, 16, 65536, 102400)


def one_kernel(warps, registers, shared, sm=A6000):
    return np.array([warps]), np.array([registers]), np.array([shared]), sm


ALL_FOUR = Multiprocessor(4, 4, 4 * 32 * 32, 4 * 1000)
RIGHT_ON = {  # where what they leave out is 0, or what they take for another is the same
    to_the_nearest: one_kernel(16, 32, 51200),
    of_passes_and_one: SLOW,
    share_remembered: (FULL[[0, 1, 2, 0]], np.ones(4), np.zeros(4), 50.4),
    fit_remembered_by_kernels: (*(np.arange(1, 6) for _ in range(3)), A6000),
    in_parts: one_kernel(16, 32, 51200),
    up_to_the_next: one_kernel(16, 32, 51200),
    as_warps: one_kernel(1, 64, 51200),
    turned_over: one_kernel(48, 32, 2000),
    as_share: one_kernel(48, 32, 2000),
    by_threads: one_kernel(1, 64, 100_000),
    most_that_fit: one_kernel(1, 32, 1000, ALL_FOUR),
    of_traffic: NEITHER,
    without_passes: NEITHER,
    of_one_pass: NEITHER,
    multiplied: NEITHER,
    of_all_times: SLOW,
    at_best: NEITHER,
    of_ridge: NEITHER,
    growing_with_passes: QUARTER,
    of_memory_accesses: HALF,
}
