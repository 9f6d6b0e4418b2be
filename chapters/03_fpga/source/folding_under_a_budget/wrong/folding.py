"""Wrong ideas of `fpga.folding`: budget, cycles [L] and DSPs [L] of a lane -> lanes [L]."""

from collections.abc import Callable

import numpy as np

MOST = 10_000  # steps, after which an idea has no end


def grown(budget, cycles, dsps, wider: Callable) -> np.ndarray:
    """From a lane for each layer on, as long as the budget allows what `wider` asks for."""
    lanes = np.ones(len(cycles), int)
    for _ in range(MOST):
        next_lanes = wider(lanes)
        if next_lanes @ dsps > budget:
            break
        lanes = next_lanes
    return lanes


def doubled(lanes, place) -> np.ndarray:
    """Twice the lanes in one place."""
    more = lanes.copy()
    more[place] *= 2
    return more


def doubled_once(budget, cycles, dsps) -> np.ndarray:
    """The slowest layers get two lanes, and no layer more."""
    lanes = np.where(cycles == cycles.max(), 2, 1)
    return lanes if lanes @ dsps <= budget else np.ones_like(lanes)


def all_slowest(cycles) -> Callable:
    """Twice the lanes of all layers that are slowest: the right step."""

    def wider(lanes):
        times = cycles / lanes
        return np.where(times == times.max(), 2 * lanes, lanes)

    return wider


def one_of_the_slowest(budget, cycles, dsps):
    """Of several slowest layers the first one is doubled, even if the others stay as slow."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmax(cycles / lanes)))


def last_of_the_slowest(budget, cycles, dsps):
    """Of several slowest layers the last one is doubled."""

    def wider(lanes):
        times = cycles / lanes
        return doubled(lanes, np.flatnonzero(times == times.max())[-1])

    return grown(budget, cycles, dsps, wider)


def whole_cycles(rounded: Callable) -> Callable:
    """The times are rounded before they are compared."""

    def idea(budget, cycles, dsps):
        def wider(lanes):
            times = rounded(cycles / lanes)
            return np.where(times == times.max(), 2 * lanes, lanes)

        return grown(budget, cycles, dsps, wider)

    return idea


def in_proportion(budget, cycles, dsps):
    """A layer gets DSPs as its cycles are of all cycles, rounded down to a power of two."""
    lanes = np.maximum(budget * cycles / cycles.sum() / dsps, 1)
    return 2 ** np.floor(np.log2(lanes)).astype(int)


def most_for_a_dsp(budget, cycles, dsps):
    """Of the layers that the budget allows, the one that saves the most cycles for a DSP."""
    lanes = np.ones(len(cycles), int)
    for _ in range(MOST):
        allowed = lanes @ dsps + lanes * dsps <= budget
        if not allowed.any():
            break
        saved = np.where(allowed, cycles / lanes / (lanes * dsps), 0)
        lanes = doubled(lanes, np.argmax(saved))
    return lanes


def first_lanes_free(budget, cycles, dsps):
    """The first lane of each layer costs nothing."""
    return grown(budget + dsps.sum(), cycles, dsps, all_slowest(cycles))


def cheapest_now(budget, cycles, dsps):
    """The layer gets more lanes that takes the fewest DSPs so far."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmin(lanes * dsps)))


def fastest_layer(budget, cycles, dsps):
    """The layer that takes the fewest cycles gets more lanes."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmin(cycles / lanes)))


def spends_the_rest(budget, cycles, dsps):
    """What is left is spent on layers that are not the slowest, slow ones first."""
    lanes = grown(budget, cycles, dsps, all_slowest(cycles))
    for _ in range(MOST):
        for place in np.argsort(-cycles / lanes, kind="stable"):
            more = doubled(lanes, place)
            if more @ dsps <= budget:
                lanes = more
                break
        else:
            return lanes
    return lanes


def all_alike(budget, cycles, dsps):
    """The same lanes for each layer."""
    return grown(budget, cycles, dsps, lambda lanes: 2 * lanes)


def budget_for_each(budget, cycles, dsps):
    """The DSPs of the dearest layer alone are compared with the budget."""
    lanes = np.ones(len(cycles), int)
    for _ in range(MOST):
        more = all_slowest(cycles)(lanes)
        if max(more * dsps) > budget:
            break
        lanes = more
    return lanes


def over_budget(budget, cycles, dsps):
    """The step that no longer fits is made."""
    return all_slowest(cycles)(grown(budget, cycles, dsps, all_slowest(cycles)))


def budget_not_used_up(budget, cycles, dsps):
    """A folding that takes exactly the budget is refused."""
    return grown(budget - 1, cycles, dsps, all_slowest(cycles))


def first_slowest_alone(budget, cycles, dsps):
    """The layer that was slowest with one lane gets all the lanes."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmax(cycles)))


def one_lane_more(budget, cycles, dsps):
    """One lane more, in place of twice as many."""

    def wider(lanes):
        times = cycles / lanes
        return np.where(times == times.max(), lanes + 1, lanes)

    return grown(budget, cycles, dsps, wider)


def budget_of_lanes(budget, cycles, dsps):
    """A lane is taken to cost one DSP."""
    return grown(budget, cycles, np.ones(len(cycles), int), all_slowest(cycles))


def cheapest_first(budget, cycles, dsps):
    """The layer whose lanes are cheapest gets them."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmin(dsps)))


def dearest_first(budget, cycles, dsps):
    """The layer that takes the most DSPs gets more."""
    return grown(budget, cycles, dsps, lambda lanes: doubled(lanes, np.argmax(lanes * dsps)))


def one_lane_each(budget, cycles, dsps):
    """Nothing is doubled."""
    return np.ones(len(cycles), int)
