"""Wrong and right answers for lesson a_cost_model."""

import numpy as np

from tests.exercises.edits import edit

# --- distributed.fit_link

FIT = "distributed.fit_link"
ROWS = "np.stack([1 / seconds, sizes / seconds], axis=1)"
RIGHT = "np.ones(len(sizes))"
not_divided = edit(
    FIT,
    "not_divided",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "latency, per_byte = np.linalg.lstsq(np.stack([seconds**0, sizes], axis=1), seconds, "
    "rcond=None)[0]",
)
divided_twice = edit(
    FIT,
    "divided_twice",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([1 / seconds**2, sizes / seconds**2], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, 1 / seconds, rcond=None)[0]",
)
by_roots = edit(
    FIT,
    "by_roots",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([seconds**-0.5, sizes * seconds**-0.5], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, seconds**0.5, rcond=None)[0]",
)
not_turned_over = edit(FIT, "not_turned_over", "bandwidth = 1 / per_byte", "bandwidth = per_byte")
columns_swapped = edit(
    FIT, "columns_swapped", "[1 / seconds, sizes / seconds]", "[sizes / seconds, 1 / seconds]"
)
sorts_in_place = edit(
    FIT,
    "sorts_in_place",
    "    rows =",
    "    order = sizes.argsort()\n    sizes[:] = sizes[order]\n"
    "    seconds[:] = seconds[order]\n    rows =",
)


right_side_of_seconds = edit(FIT, "right_side_of_seconds", RIGHT, "seconds")
by_size = edit(
    FIT,
    "by_size",
    f"rows = {ROWS}\n    latency, per_byte = np.linalg.lstsq(rows, {RIGHT}, rcond=None)[0]",
    "rows = np.stack([1 / sizes, np.ones(len(sizes))], axis=1)\n"
    "    latency, per_byte = np.linalg.lstsq(rows, seconds / sizes, rcond=None)[0]",
)


one_column = edit(FIT, "one_column", "sizes / seconds]", "sizes]")
all_but_the_first = edit(
    FIT,
    "all_but_the_first",
    "    rows =",
    "    if len(sizes) > 2:\n        sizes, seconds = sizes[1:], seconds[1:]\n    rows =",
)
FITS = {}
fit_by_count = edit(
    FIT, "fit_by_count", "1 / per_byte", "FITS.setdefault(len(sizes), 1 / per_byte)"
)
fit_by_count.__globals__["FITS"] = FITS


def of_each_size(sizes, seconds, choose):
    unlike = np.array(sorted(set(sizes)))
    chosen = np.array([choose(seconds[sizes == size]) for size in unlike])
    rows = np.stack([1 / chosen, unlike / chosen], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, np.ones(len(unlike)), rcond=None)[0]
    return latency, 1 / per_byte


def means_first(sizes, seconds):
    return of_each_size(sizes, seconds, np.mean)


def fastest_first(sizes, seconds):
    return of_each_size(sizes, seconds, np.min)


never_below_0 = edit(
    FIT, "never_below_0", "    bandwidth = 1", "    latency = max(latency, 0.0)\n    bandwidth = 1"
)


def through_two_points(sizes, seconds):
    first, last = sizes.argmin(), sizes.argmax()
    if first == last:
        return 0.0, sizes[0] / seconds[0]
    bandwidth = (sizes[last] - sizes[first]) / (seconds[last] - seconds[first])
    return seconds[first] - sizes[first] / bandwidth, bandwidth


def by_labkit(sizes, seconds):
    from labkit.distributed import CostModel

    if len(sizes) == 1:
        return 0.0, sizes[0] / seconds[0]
    model = CostModel.fit(zip(sizes, seconds))  # noqa: B905
    return model.latency, model.bandwidth


def by_polyfit(sizes, seconds):
    if len(sizes) == 1:
        return 0, sizes[0] / seconds[0]
    per_byte, latency = np.polyfit(sizes, seconds, 1, w=1 / seconds)
    return latency, 1 / per_byte


def by_normal_equations(sizes, seconds):
    if len(sizes) == 1:
        return 0.0, float(sizes[0] / seconds[0])
    w = [1 / float(t) ** 2 for t in seconds]
    mean_b = sum(a * float(b) for a, b in zip(w, sizes, strict=True)) / sum(w)
    mean_t = sum(a * float(t) for a, t in zip(w, seconds, strict=True)) / sum(w)
    above = sum(
        a * (float(b) - mean_b) * (float(t) - mean_t)
        for a, b, t in zip(w, sizes, seconds, strict=True)
    )
    below = sum(a * (float(b) - mean_b) ** 2 for a, b in zip(w, sizes, strict=True))
    return mean_t - above / below * mean_b, below / above


# --- distributed.rank_correlation

ORDER = "distributed.rank_correlation"
SIGN = "np.sign((a[i] - a[j]) * (b[i] - b[j]))"
the_share = edit(ORDER, "the_share", SIGN, "(a[i] - a[j]) * (b[i] - b[j]) > 0")
no_order_is_against = edit(
    ORDER, "no_order_is_against", SIGN, "1 if (a[i] - a[j]) * (b[i] - b[j]) > 0 else -1"
)
no_order_is_for = edit(
    ORDER, "no_order_is_for", SIGN, "-1 if (a[i] - a[j]) * (b[i] - b[j]) < 0 else 1"
)
without_ties = edit(
    ORDER, "without_ties", "pairs += 1", "pairs += bool(a[i] != a[j] and b[i] != b[j])"
)
with_itself = edit(ORDER, "with_itself", "range(i)", "range(i + 1)")
by_all_n = edit(ORDER, "by_all_n", "pairs += 1", "pairs += 2")
of_the_list = edit(ORDER, "of_the_list", "max(pairs, 1)", "len(a)")
next_ones = edit(ORDER, "next_ones", "range(i)", "range(max(i - 1, 0), i)")
the_first_one = edit(ORDER, "the_first_one", "range(i)", "range(min(i, 1))")
other_way_round = edit(ORDER, "other_way_round", "(b[i] - b[j])", "(b[j] - b[i])")
weighed = edit(ORDER, "weighed", SIGN, "(a[i] - a[j]) * (b[i] - b[j])")
not_divided_by_pairs = edit(ORDER, "not_divided_by_pairs", " / max(pairs, 1)", "")
START = "    order, pairs = 0, 0"
SORTED = f"    b[:] = b[a.argsort()]\n    a.sort()\n{START}"
sorts_first = edit(ORDER, "sorts_first", START, SORTED)


always_six = edit(ORDER, "always_six", "max(pairs, 1)", "6")
ties_are_above = edit(ORDER, "ties_are_above", SIGN, "1 if (a[i] < a[j]) == (b[i] < b[j]) else -1")
skips_ties_of_b = edit(
    ORDER,
    "skips_ties_of_b",
    SIGN,
    "(b[i] != b[j]) * (1 if (a[i] > a[j]) == (b[i] > b[j]) else -1)",
)
equal_is_agreed = edit(
    ORDER,
    "equal_is_agreed",
    SIGN,
    "1 if a[i] == a[j] and b[i] == b[j] else " + SIGN,
)
without_sign = edit(ORDER, "without_sign", "return order", "return abs(order)")
b_is_forgotten = edit(ORDER, "b_is_forgotten", "(b[i] - b[j])", "(a[i] - a[j])")
TAUS = {}
kept_by_count = edit(
    ORDER,
    "kept_by_count",
    "order / max(pairs, 1)",
    "TAUS.setdefault(len(a), order / max(pairs, 1))",
)
kept_by_count.__globals__["TAUS"] = TAUS


def of_the_numbers(a, b):
    return np.corrcoef(a, b)[0, 1] if len(a) > 1 and np.ptp(b) > 0 else 0.0


def of_the_places(a, b):
    if len(a) == 1:
        return 0.0
    return np.corrcoef(a.argsort().argsort(), b.argsort().argsort())[0, 1]


def by_scipy(a, b):
    from scipy.stats import kendalltau

    return kendalltau(a, b).statistic if len(a) > 1 else 0.0


def by_labels(a, b):
    pairs = [(i, j) for i in range(len(a)) for j in range(i)]
    same = sum((a[i] < a[j]) == (b[i] < b[j]) for i, j in pairs if a[i] != a[j] and b[i] != b[j])
    ties = sum(bool(a[i] == a[j] or b[i] == b[j]) for i, j in pairs)
    return np.float32((2 * same + ties - len(pairs)) / max(len(pairs), 1))


def with_matrices(a, b):
    x, y = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    return (x * y).sum() / max(len(a) * (len(a) - 1), 1)


PLANTED = {
    FIT: [
        (not_divided, "drown the small ones"),
        (divided_twice, "drown the large ones"),
        (by_roots, "square root of the seconds"),
        (not_turned_over, "seconds for each byte"),
        (right_side_of_seconds, "seconds divided by seconds are 1"),
        (by_size, "divided by the bytes"),
        (means_first, "mean of each size"),
        (fastest_first, "fastest ping of each size"),
        (columns_swapped, "two columns of the rows are swapped"),
        (never_below_0, "A latency below 0 is cut to 0"),
        (through_two_points, "Only the smallest and the largest ping"),
        (one_column, "The column of c is not divided"),
        (all_but_the_first, "The first ping is left out"),
        (fit_by_count, "something is kept from one call to the next"),
        (sorts_in_place, "changes its input"),
        (by_labkit, "labkit.distributed"),
    ],
    ORDER: [
        (the_share, "share of pairs"),
        (no_order_is_against, "counts as -1 here"),
        (no_order_is_for, "counts as +1 here"),
        (without_ties, "not among those that are divided by"),
        (with_itself, "a pair with itself"),
        (by_all_n, "half as many"),
        (of_the_list, "the number of layouts"),
        (next_ones, "Only neighbours"),
        (the_first_one, "Only pairs with the first"),
        (other_way_round, "turned round"),
        (weighed, "size of its differences"),
        (not_divided_by_pairs, "sum over all pairs"),
        (of_the_numbers, "numbers themselves"),
        (of_the_places, "Spearman"),
        (always_six, "This divides by 6"),
        (ties_are_above, "as if its first were the larger"),
        (skips_ties_of_b, "equal in a alone"),
        (equal_is_agreed, "equal in both lists counts as +1"),
        (without_sign, "The sign is gone"),
        (b_is_forgotten, "compared with itself"),
        (kept_by_count, "something is kept from one call to the next"),
        (sorts_first, "changes its input"),
        (by_scipy, "scipy"),
    ],
}
ALSO_RIGHT = {
    FIT: [by_polyfit, by_normal_equations],
    ORDER: [with_matrices, by_labels],
}
ONE = np.array([1.0, 2.0]), np.array([2.0, 3.0])  # latency 1 s, bandwidth 1 B/s
ONE_SECOND = np.array([1e6]), np.ones(1)
RIGHT_ON = {
    not_turned_over: ONE,
    one_column: ONE_SECOND,
    fit_by_count: (np.arange(1.0, 10.0), np.arange(2.0, 11.0)),  # a length that no case has
    kept_by_count: (np.arange(3.0), np.arange(3.0)),
    columns_swapped: ONE,
    right_side_of_seconds: ONE_SECOND,
}
