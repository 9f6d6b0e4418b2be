"""The exercises of the lesson: what binds a pipeline, and the lanes that a budget allows."""

from collections.abc import Callable
from math import ceil

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.fpga.folding_under_a_budget.wrong import bound as wrong_bound
from labkit_lessons.fpga.folding_under_a_budget.wrong import folding as wrong_folding

# fpga.bound: work [L], multipliers [L], image_bytes, weight_bytes, resident, width -> cycles, which

PIPELINES = {  # layers, whether the weights are resident, what binds, and the slowest layer
    "three layers": (3, True, "layer", 2),
    "one layer": (1, False, "layer", 0),
    "two layers": (2, False, "stream", 1),
    "four layers": (4, False, "layer", 0),
    "large images": (4, True, "stream", 1),
    "five layers": (5, False, "stream", 4),
    "seven layers": (7, True, "layer", 3),
    "one layer and a slow stream": (1, False, "stream", 0),
    "a stream as slow as a layer": (3, False, "both", 1),
    "full beats": (4, False, "full", 2),
}
SHARES = {  # of the slowest layer's cycles, that the stream takes
    "layer": (0.5, 0.9),
    "both": (1, 1),
    "stream": (1.1, 1.4),
    "full": (1.1, 1.4),
}


def pipeline(rng: np.random.Generator, L: int, resident: bool, binds: str, slowest: int) -> tuple:
    """Layers whose cycles are whole numbers, and bytes that leave a beat partly filled or full.

    The slowest layer never has the most multiply-adds, if there are two, nor the fewest
    multipliers, if there are three. Streamed weights leave a
    gap behind the pixels' last byte, if they begin a beat of their own: that takes a beat more.
    """
    cycles = 10 * rng.permutation(np.arange(301, 900))[:L]
    largest = int(np.argmax(cycles))
    cycles[[slowest, largest]] = cycles[[largest, slowest]]
    multipliers = rng.permutation(np.arange(10, 90))[:L]
    multipliers[slowest] = 3
    if L > 2:
        multipliers[slowest - 1] = 2
    width = int(rng.choice([4, 7, 8, 16]))
    longest = int(cycles[slowest])
    share = rng.uniform(*SHARES[binds])
    unfilled = 0 if binds == "full" else int(rng.integers(1, width - 1))
    streamed = width * int(share * longest) - unfilled
    if resident:
        return cycles * multipliers, multipliers, streamed, width * 3 * longest, True, width
    share = rng.uniform(0.03, 0.06)  # of the image, or else of the weights
    image = width * int((share if L % 2 else 1 - share) * streamed / width) + 1
    return cycles * multipliers, multipliers, image, streamed - image, False, width


def slowest_of(work, multipliers, image_bytes, weight_bytes, resident, width):
    """The cycles between two images, and whether the stream takes longer than every layer."""
    layer = max(work / multipliers)
    streamed = image_bytes if resident else image_bytes + weight_bytes
    stream = ceil(streamed / width)
    return int(max(layer, stream)), stream > layer


FIRST_RESIDENT = {}  # layers -> whether the weights are resident in the first such case
for L, resident, *_ in PIPELINES.values():
    FIRST_RESIDENT.setdefault(L, resident)


def resident_as_before(work, multipliers, image_bytes, weight_bytes, resident, width):
    """What the first pipeline with as many layers had is taken for this one."""
    resident = FIRST_RESIDENT[len(work)]
    return slowest_of(work, multipliers, image_bytes, weight_bytes, resident, width)


bound = exercise(
    "fpga.bound",
    oracle=slowest_of,
    cases=cases_of(PIPELINES, pipeline),
    wrong={
        "resident_as_before": resident_as_before,
        "always_true": lambda *given: (slowest_of(*given)[0], True),
        "always_false": lambda *given: (slowest_of(*given)[0], False),
        "any_layer": wrong_bound.any_layer,
        "average_layer": wrong_bound.average_layer,
        "first_layer": wrong_bound.some_layers(slice(1)),
        "last_layer": wrong_bound.some_layers(slice(-1, None)),
        "first_two": wrong_bound.some_layers(slice(2)),
        "eight_bytes": lambda *given: slowest_of(*given[:-1], 8),
        **by_own_name(
            wrong_bound.bits_for_bytes,
            wrong_bound.smaller_of_both,
            wrong_bound.one_after_the_other,
            wrong_bound.stream_then_layers,
            wrong_bound.always_streamed,
            wrong_bound.layers_alone,
            wrong_bound.no_image,
            wrong_bound.weights_alone,
            wrong_bound.bytes_are_cycles,
            wrong_bound.most_work,
            wrong_bound.fastest_layer,
            wrong_bound.all_multipliers,
            wrong_bound.beat_dropped,
            wrong_bound.one_beat_more,
            wrong_bound.nearest_beat,
            wrong_bound.part_of_a_cycle,
            wrong_bound.layer_binds,
            wrong_bound.tie_binds,
            wrong_bound.rounded_apart,
            wrong_bound.parts_dropped,
            wrong_bound.upside_down,
            wrong_bound.side_by_side,
            wrong_bound.never_streamed,
        ),
        "first_three": wrong_bound.some_layers(slice(3)),
        "against_sum": wrong_bound.against_sum,
    },
    outputs=("cycles", "stream_binds"),
    dtype=(None, "any"),  # the text asks for no type of `stream_binds`
    forbidden=(*LIBRARIES, "labkit.fpga"),
)

# fpga.folding: budget, cycles [L], dsps [L] -> lanes [L]

BUDGETS = {  # layers, how often the slowest ones are doubled, and where the budget lies
    "three layers": (3, 5, "just short"),
    "one layer": (1, 3, "between"),
    "two layers": (2, 4, "exact"),
    "four layers": (4, 6, "between"),
    "the least budget": (3, 0, "exact"),
    "five layers": (5, 9, "exact"),
    "equal times": (2, 4, "just short"),
    "equal times of four": (4, 3, "just short"),
    "four layers with many lanes": (4, 10, "exact"),
    "nearly equal times": (2, 2, "exact"),
    "nearly equal, the other way": (2, 2, "just short"),
    "one layer with many lanes": (1, 11, "between"),
    "two layers with many lanes": (2, 17, "between"),
}


def budgeted(rng: np.random.Generator, L: int, doublings: int, where: str) -> tuple:
    """A budget for so many doublings: exactly enough, one short of the next, or in between."""
    cycles = 16 * rng.permutation(np.arange(200, 4000))[:L]
    if "equal" in _case_of(L, doublings, where):
        cycles = 640 * 2 ** rng.permutation(np.arange(L))
    if "nearly" in _case_of(L, doublings, where):  # half a cycle apart after one doubling
        more = 1 if where == "exact" else -1
        cycles = np.array([2 * cycles[0] + more, cycles[0]])
    dsps = rng.permutation(np.arange(3, 60))[:L]
    steps = list(_steps(cycles, dsps, doublings + 1))
    enough, more = (int(lanes @ dsps) for lanes in steps[-2:])
    if where == "exact":
        return enough, cycles, dsps
    if where == "just short":
        return more - 1, cycles, dsps
    return (enough + more) // 2, cycles, dsps


def _case_of(*sizes: object) -> str:
    (name,) = (name for name, its in BUDGETS.items() if its == sizes)
    return name


def _steps(cycles, dsps, doublings: int):
    """Lanes after 0, 1, 2 and so on doublings of all layers that are slowest."""
    lanes = np.ones(len(cycles), int)
    yield lanes
    for _ in range(doublings):
        times = cycles / lanes
        lanes = np.where(times == times.max(), 2 * lanes, lanes)
        yield lanes


def fastest(budget, cycles, dsps):
    """The last of the steps that the budget allows."""
    found = None
    for lanes in _steps(cycles, dsps, 64):
        if lanes @ dsps > budget:
            return found
        found = lanes
    return found


def at_most(most: int) -> Callable:
    """The last of them in which no layer has more lanes than that."""

    def idea(budget, cycles, dsps):
        found = None
        for lanes in _steps(cycles, dsps, 64):
            if lanes @ dsps > budget or lanes.max() > most:
                return found
            found = lanes
        return found

    return idea


folding = exercise(
    "fpga.folding",
    oracle=fastest,
    cases=cases_of(BUDGETS, budgeted),
    wrong={
        "at_most_128": at_most(128),
        "at_most_16": at_most(16),
        "at_most_32": at_most(32),
        "at_most_64": at_most(64),
        "at_most_256": at_most(256),
        "at_most_512": at_most(512),
        **by_own_name(
            wrong_folding.in_proportion,
            wrong_folding.most_for_a_dsp,
            wrong_folding.first_lanes_free,
            wrong_folding.cheapest_now,
            wrong_folding.one_of_the_slowest,
            wrong_folding.last_of_the_slowest,
        ),
        "whole_cycles": wrong_folding.whole_cycles(np.floor),
        "whole_cycles_up": wrong_folding.whole_cycles(np.ceil),
        **by_own_name(
            wrong_folding.spends_the_rest,
            wrong_folding.all_alike,
            wrong_folding.budget_for_each,
            wrong_folding.over_budget,
            wrong_folding.budget_not_used_up,
            wrong_folding.first_slowest_alone,
            wrong_folding.one_lane_more,
            wrong_folding.budget_of_lanes,
            wrong_folding.fastest_layer,
            wrong_folding.cheapest_first,
            wrong_folding.dearest_first,
        ),
        "exponents": lambda *given: np.log2(fastest(*given)).astype(int),
        "dsps_of_lanes": lambda budget, cycles, dsps: fastest(budget, cycles, dsps) * dsps,
        "doubled_once": wrong_folding.doubled_once,
        "one_lane_each": wrong_folding.one_lane_each,
    },
    outputs=("lanes",),
    forbidden=(*LIBRARIES, "labkit.fpga"),
)

EXERCISES = [bound, folding]
