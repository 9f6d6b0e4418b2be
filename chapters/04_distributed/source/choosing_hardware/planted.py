"""Wrong and right answers for lesson choosing_hardware."""

import numpy as np

from tests.exercises.edits import edit

# --- distributed.machines_needed

COUNT = "distributed.machines_needed"
NEEDED = "weights * size + tokens.sum() * token_cache"
without_cache = edit(COUNT, "without_cache", NEEDED, "weights * size")
a_single_request = edit(
    COUNT, "a_single_request", NEEDED, "weights * size + tokens[0] * token_cache"
)
a_single_token = edit(COUNT, "a_single_token", NEEDED, "weights * size + len(tokens) * token_cache")
weights_uncounted = edit(COUNT, "weights_uncounted", NEEDED, "tokens.sum() * token_cache")
one_byte = edit(COUNT, "one_byte", NEEDED, "weights + tokens.sum() * token_cache")
all_times_size = edit(
    COUNT, "all_times_size", NEEDED, "(weights + tokens.sum() * token_cache) * size"
)
one_more_each_time = edit(COUNT, "one_more_each_time", "count *= 2", "count += 1")
some_room_left = edit(COUNT, "some_room_left", "needed <= count", "needed < count")
without_end = edit(COUNT, "without_end", "while count <= most", "while True")
past_most = edit(COUNT, "past_most", "while count <= most", "while count < 2 * most")
one_over_most = edit(COUNT, "one_over_most", "while count <= most", "while count <= most + 1")
fewer_than_most = edit(COUNT, "fewer_than_most", "while count <= most", "while count < most")
weights_whole = edit(
    COUNT,
    "weights_whole",
    "needed <= count * memory",
    "weights * size + tokens.sum() * token_cache / count <= memory",
)
cache_whole = edit(
    COUNT,
    "cache_whole",
    "needed <= count * memory",
    "weights * size / count + tokens.sum() * token_cache <= memory",
)
at_least_one = edit(COUNT, "at_least_one", "return 0", "return 1")


nine_tenths = edit(COUNT, "nine_tenths", "count * memory", "0.9 * count * memory")
as_in_the_example = edit(COUNT, "as_in_the_example", "weights * size", "weights * 2")
each_its_weights = edit(COUNT, "each_its_weights", "weights * size", "len(tokens) * weights * size")
whole_bytes = edit(COUNT, "whole_bytes", "needed <= count * memory", "needed // count <= memory")
starts_with_two = edit(COUNT, "starts_with_two", "count = 1", "count = 2")
sorts = edit(COUNT, "sorts", "    count = 1", "    tokens.sort()\n    count = 1")


def by_the_chooser(weights, size, tokens, token_cache, memory, most):
    from labkit.distributed.chooser.workload import above_zero

    count = 1
    while count <= above_zero("most", most):
        if weights * size + tokens.sum() * token_cache <= count * memory:
            return count
        count *= 2
    return 0


def by_logarithms_alone(weights, size, tokens, token_cache, memory, most):
    bytes = weights * size + tokens.sum() * token_cache
    n = 2 ** int(np.ceil(np.log2(bytes / memory)))
    return n if n <= most else 0


all_of_them = edit(COUNT, "all_of_them", "return 0", "return most")


def by_logarithms(weights, size, tokens, token_cache, memory, most):
    import math

    needed = weights * size + tokens.sum() * token_cache
    least = math.ceil(needed / memory)
    count = 1 << (least - 1).bit_length()
    return count if count <= most else 0


def by_a_list(weights, size, tokens, token_cache, memory, most):
    bytes = weights * size
    for one in tokens:
        bytes += one * token_cache
    fits = [2**k for k in range(20) if 2**k <= most and 2**k * memory >= bytes]
    return fits[0] if fits else 0


# --- distributed.step_parts

STEP = "distributed.step_parts"
LINKS = "reduces * 2 * (n - 1) * (latency + reduced / (n * link))"
WHOLE = "np.maximum(compute, reading) + links"
one_machines_flops = edit(STEP, "one_machines_flops", "flops / (n * peak)", "flops / peak + 0 * n")
one_machines_bytes = edit(
    STEP, "one_machines_bytes", "moved / (n * bandwidth)", "moved / bandwidth + 0 * n"
)
other_order = edit(STEP, "other_order", "[compute, reading,", "[reading, compute,")
only_one = edit(STEP, "only_one", "reduces * 2", "2")
half_a_ring = edit(STEP, "half_a_ring", "reduces * 2", "reduces")
not_cut = edit(STEP, "not_cut", "reduced / (n * link)", "reduced / link")
at_once = edit(STEP, "at_once", "latency + reduced", "reduced")
first_message = edit(
    STEP,
    "first_message",
    LINKS,
    "reduces * (latency + 2 * (n - 1) * reduced / (n * link))",
)
all_n = edit(STEP, "all_n", "2 * (n - 1)", "2 * n")
links_cut = edit(STEP, "links_cut", LINKS, f"{LINKS} / n")
added = edit(STEP, "added", WHOLE, "compute + reading + links")
hidden = edit(STEP, "hidden", WHOLE, "np.maximum(np.maximum(compute, reading), links)")
no_links = edit(STEP, "no_links", WHOLE, "np.maximum(compute, reading)")
shorter = edit(STEP, "shorter", WHOLE, "np.minimum(compute, reading) + links")


three_of_them = edit(STEP, "three_of_them", "reduces * 2", "3 * 2")
one_for_all = edit(
    STEP, "one_for_all", LINKS, "2 * (n - 1) * (latency + reduces * reduced / (n * link))"
)
rates_over_work = edit(
    STEP,
    "rates_over_work",
    "flops / (n * peak)",
    "(n * peak) / flops",
    ("moved / (n * bandwidth)", "(n * bandwidth) / moved"),
)
not_shared_but_multiplied = edit(
    STEP,
    "not_shared_but_multiplied",
    "flops / (n * peak)",
    "flops * n / peak",
    ("moved / (n * bandwidth)", "moved * n / bandwidth"),
)
longest_anywhere = edit(
    STEP, "longest_anywhere", WHOLE, "np.maximum(compute.max(), reading.max()) + links"
)
reading_only = edit(STEP, "reading_only", WHOLE, "reading + links")
whole_seconds = edit(
    STEP,
    "whole_seconds",
    "np.maximum(compute, reading) + links])",
    "np.maximum(compute, reading) + links]).astype(int)",
)
STEPS = {}
links_by_n = edit(STEP, "links_by_n", LINKS, f"STEPS.setdefault(tuple(n), {LINKS})")
links_by_n.__globals__["STEPS"] = STEPS


def counts_from_zero(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
    n -= 1
    links = reduces * 2 * n * (latency + reduced / ((n + 1) * link))
    compute, reading = flops / (n + 1) / peak, moved / (n + 1) / bandwidth
    return np.array([compute, reading, links, np.maximum(compute, reading) + links])


def by_the_cost_model(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
    from labkit.distributed.costs.cost_model import CostModel

    ring = CostModel(latency, link)
    links = [reduces * ring.predict("ring_all_reduce", int(one), reduced) for one in n]
    compute, reading = flops / n / peak, moved / n / bandwidth
    return np.array([compute, reading, links, np.maximum(compute, reading) + links])


def message_by_message(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
    columns = []
    for one in map(int, n):
        seconds = 0.0
        for _ in range(reduces * (one - 1)):
            seconds += 2 * (latency + reduced / one / link)
        work = [flops / one / peak, moved / one / bandwidth]
        columns.append([*work, seconds, sorted(work)[1] + seconds])
    return np.array(columns).T


# --- distributed.cheapest

CHEAPEST = "distributed.cheapest"
COSTS = "counts * seconds * prices"
OUT = "np.isnan(prices) | (seconds > limit)"
empty_as_zero = edit(CHEAPEST, "empty_as_zero", "np.isnan(prices)", "(prices == np.nan)")
cheapest_hour = edit(CHEAPEST, "cheapest_hour", COSTS, "1.0 * prices")
single = edit(CHEAPEST, "single", COSTS, "seconds * prices")
without_seconds = edit(CHEAPEST, "without_seconds", COSTS, "counts * prices")
no_limit = edit(CHEAPEST, "no_limit", OUT, "np.isnan(prices)")
strictly = edit(CHEAPEST, "strictly", "seconds > limit", "seconds >= limit")
divides = edit(CHEAPEST, "divides", COSTS, "seconds * prices / counts")
quickest = edit(CHEAPEST, "quickest", COSTS, "1.0 * seconds")
first_of_none = edit(CHEAPEST, "first_of_none", "return -1", "return 0")
only_late = edit(CHEAPEST, "only_late", "seconds > limit", "seconds <= limit")
overwrites = edit(
    CHEAPEST,
    "overwrites",
    f"costs = {COSTS}",
    f"prices[np.isnan(prices)] = np.inf\n    costs = {COSTS}",
)


in_cents = edit(CHEAPEST, "in_cents", COSTS, f"np.round({COSTS} / 3600, 2)")
counted_from_one = edit(
    CHEAPEST, "counted_from_one", "int(np.argmin(costs))", "int(np.argmin(costs)) + 1"
)
over_seconds = edit(CHEAPEST, "over_seconds", COSTS, "counts * prices / seconds")


def drops_what_is_free(counts, seconds, prices, limit):
    best, least = -1, float("inf")
    for place, cost in enumerate(counts * seconds * prices):
        if prices[place] > 0 and seconds[place] <= limit and cost < least:
            best, least = place, cost
    return best


def below_a_million(counts, seconds, prices, limit):
    best, least = -1, 999_999.0
    for place, cost in enumerate(counts * seconds * prices):
        if seconds[place] <= limit and cost < least:
            best, least = place, cost
    return best


nan_anywhere = edit(
    CHEAPEST, "nan_anywhere", f"costs[{OUT}]", "costs[(seconds > limit) & ~np.isnan(prices)]"
)
all_their_seconds = edit(
    CHEAPEST, "all_their_seconds", "seconds > limit", "counts * seconds > limit"
)


def of_the_filtered(counts, seconds, prices, limit):
    ok = ~np.isnan(prices) & (seconds <= limit)
    if not ok.any():
        return -1
    return int(np.argmin((counts * seconds * prices)[ok]))


def by_sorting(counts, seconds, prices, limit):
    costs = np.where(seconds <= limit, counts * seconds * prices, np.inf)
    best = int(np.argsort(costs)[0])
    return best if costs[best] < np.inf else -1


def first_of_the_sorted(counts, seconds, prices, limit):
    costs = np.where(seconds <= limit, counts * seconds * prices, np.inf)
    return int(np.argsort(costs)[0])


def dearest(counts, seconds, prices, limit):
    best, most = -1, 0.0
    for place in range(len(counts)):
        cost = counts[place] * seconds[place] * prices[place]
        if seconds[place] <= limit and cost > most:
            best, most = place, cost
    return best


def by_choosing(counts, seconds, prices, limit):
    from labkit.distributed.chooser import Limits

    costs = np.where(seconds <= Limits(seconds=limit).seconds, counts * seconds * prices, np.nan)
    return -1 if np.isnan(costs).all() else int(np.nanargmin(costs))


def in_a_loop(counts, seconds, prices, limit):
    best, least = -1, float("inf")
    for place, price in enumerate(prices):
        cost = price * seconds[place] * counts[place]
        if seconds[place] <= limit and cost < least:  # False for nan
            best, least = place, cost
    return best


def with_nanargmin(counts, seconds, prices, limit):
    costs = np.where(seconds <= limit, counts * seconds * prices / 3600, np.nan)
    return np.int64(-1) if np.isnan(costs).all() else np.nanargmin(costs)


PLANTED = {
    COUNT: [
        (without_cache, "The cache is missing"),
        (a_single_request, "the cache of one request"),
        (a_single_token, "the cache of one token"),
        (weights_uncounted, "The weights are missing"),
        (one_byte, "Each weight has size bytes"),
        (all_times_size, "in bytes already"),
        (one_more_each_time, "but not of 1, 2, 4, 8"),
        (some_room_left, "fills the memory exactly does fit"),
        (without_end, "takes more than most machines"),
        (past_most, "one power of two past most"),
        (one_over_most, "One machine more than most is allowed"),
        (fewer_than_most, "Exactly most machines are allowed"),
        (weights_whole, "every machine holds all weights"),
        (cache_whole, "every machine holds the whole cache"),
        (at_least_one, "machines are not enough, the result is 0"),
        (by_logarithms_alone, "the counts begin at 1"),
        (all_of_them, "this takes most all the same"),
        (nine_tenths, "is taken off already"),
        (as_in_the_example, "2 bytes here, as in the example"),
        (each_its_weights, "weights of its own"),
        (whole_bytes, "bytes of each machine are rounded down"),
        (starts_with_two, "begins with 2 machines"),
        (sorts, "changes its input tokens"),
        (by_the_chooser, "labkit.distributed.chooser"),
    ],
    STEP: [
        (one_machines_flops, "The FLOPs are not shared"),
        (one_machines_bytes, "The bytes are not shared"),
        (other_order, "in the wrong order"),
        (only_one, "This is one all-reduce"),
        (half_a_ring, "half of an all-reduce"),
        (not_cut, "carries a piece"),
        (at_once, "The latency is missing"),
        (first_message, "not just the first"),
        (all_n, "and not 2 n"),
        (links_cut, "All-reduces are not shared"),
        (added, "go on at the same time"),
        (hidden, "links come on top of the longer"),
        (no_links, "The step lacks the links"),
        (shorter, "and not the shorter"),
        (three_of_them, "3 all-reduces, as in the example"),
        (one_for_all, "All all-reduces are one here"),
        (rates_over_work, "The rates are divided by the work"),
        (not_shared_but_multiplied, "n times as long"),
        (longest_anywhere, "the longest over all numbers"),
        (reading_only, "The step has bandwidth and links"),
        (whole_seconds, "it should hold floating-point numbers"),
        (links_by_n, "three, compute again"),
        (counts_from_zero, "changes its input n"),
        (by_the_cost_model, "labkit.distributed.costs.cost_model"),
    ],
    CHEAPEST: [
        (empty_as_zero, "is taken as free"),
        (cheapest_hour, "the cheapest hour"),
        (single, "the price of one machine"),
        (without_seconds, "the price is for an hour"),
        (no_limit, "takes longer than limit"),
        (strictly, "exactly as long as the limit is in time"),
        (divides, "each of them costs its price"),
        (quickest, "the fastest of those with a price"),
        (dearest, "the dearest of those that count"),
        (first_of_none, "the result is -1"),
        (only_late, "slower than the limit"),
        (nan_anywhere, "so an empty price wins"),
        (all_their_seconds, "The machines work at the same time"),
        (of_the_filtered, "the place in the whole table"),
        (first_of_the_sorted, "puts inf and nan last"),
        (in_cents, "rounded to cents"),
        (counted_from_one, "The place counts from 1"),
        (over_seconds, "divided by the seconds"),
        (drops_what_is_free, "A price of 0 is taken for none"),
        (below_a_million, "begins with a finite cost"),
        (overwrites, "changes its input prices"),
        (by_choosing, "labkit.distributed.chooser"),
    ],
}
ALSO_RIGHT = {
    COUNT: [by_logarithms, by_a_list],
    STEP: [message_by_message],
    CHEAPEST: [in_a_loop, with_nanargmin, by_sorting],
}
N = np.array([2])
RIGHT_ON = {
    rates_over_work: (2.0, 4.0, 3, 5.0, np.array([1]), 2.0, 4.0, 0.1, 2.0),
    whole_seconds: (4.0, 8.0, 3, 5.0, np.array([1]), 2.0, 4.0, 0.1, 2.0),
    other_order: (70.0, 40.0, 3, 5.0, N, 7.0, 4.0, 0.1, 2.0),
    first_message: (70.0, 50.0, 3, 5.0, N, 7.0, 4.0, 0.0, 2.0),
    all_n: (70.0, 50.0, 3, 0.0, N, 7.0, 4.0, 0.0, 2.0),
    added: (0.0, 50.0, 3, 5.0, N, 7.0, 4.0, 0.1, 2.0),
    shorter: (70.0, 40.0, 3, 5.0, N, 7.0, 4.0, 0.1, 2.0),
}
