"""Wrong and right answers for lesson fine_tuning_and_compilers."""

import numpy as np

from tests.exercises.edits import edit

# --- distributed.lora_layer

LORA = "distributed.lora_layer"
SCALE = "scale = alpha / len(a)"
no_factor = edit(LORA, "no_factor", SCALE, "scale = 1")
alpha_alone = edit(LORA, "alpha_alone", SCALE, "scale = alpha")
rank_by_columns = edit(LORA, "rank_by_columns", SCALE, "scale = alpha / a.shape[1]")
rank_by_outputs = edit(LORA, "rank_by_outputs", SCALE, "scale = alpha / len(w)")
upside_down = edit(LORA, "upside_down", SCALE, "scale = len(a) / alpha")
rank_by_inputs_rows = edit(LORA, "rank_by_inputs_rows", SCALE, "scale = alpha / len(x)")
whole_division = edit(LORA, "whole_division", SCALE, "scale = alpha // len(a)")
alpha_of_example = edit(LORA, "alpha_of_example", SCALE, "scale = 2 / len(a)")
MERGED = {}
merged_by_shape = edit(
    LORA,
    "merged_by_shape",
    "return y, w + scale * b @ a",
    "return y, MERGED.setdefault((len(x), w.shape, a.shape), w + scale * b @ a)",
)
merged_by_shape.__globals__["MERGED"] = MERGED
update_only = edit(
    LORA, "update_only", "x @ w.T + scale * (x @ a.T) @ b.T", "scale * (x @ a.T) @ b.T"
)
not_merged = edit(LORA, "not_merged", "w + scale * b @ a", "w")
everything_scaled = edit(LORA, "everything_scaled", "return y, w", "return y, scale * w")
merges_in_place = edit(
    LORA, "merges_in_place", "return y, w + scale * b @ a", "w += scale * b @ a\n    return y, w"
)
lora_by_labkit = edit(
    LORA,
    "lora_by_labkit",
    SCALE,
    "import torch\n    torch.nn.functional.linear(torch.zeros(1, 1), torch.zeros(1, 1))\n    "
    + SCALE,
)


def through_the_merged(x, w, a, b, alpha):
    merged = w + np.einsum("or,ri->oi", b, a) * (alpha / a.shape[0])
    return np.dot(x, merged.T), merged


def by_each_rank(x, w, a, b, alpha):
    merged = w.copy()
    for row, column in zip(a, b.T, strict=True):
        merged += alpha / b.shape[1] * np.outer(column, row)
    return [x @ merged.T, merged]


# --- distributed.compare

COMPARE = "distributed.compare"
SAME = "np.allclose(first(x), second(x), rtol=0, atol=1e-3)"
WARM_UP = f"    same = {SAME}\n    wait()\n"
COMPARED = "    if not same:\n        return None\n"
IN_LOOP = "            function(x)\n            wait()\n"
MEDIANS = "return np.median(times_of_first), np.median(times_of_second)"
cold = edit(COMPARE, "cold", WARM_UP + COMPARED, "")
hurries = edit(COMPARE, "hurries", IN_LOOP, "            function(x)\n")
warm_up_runs_on = edit(COMPARE, "warm_up_runs_on", WARM_UP, WARM_UP.replace("    wait()\n", ""))
trusts = edit(COMPARE, "trusts", COMPARED, "")
one_round = edit(COMPARE, "one_round", "for _ in range(rounds)", "for _ in range(1)")
a_round_more = edit(COMPARE, "a_round_more", "range(rounds)", "range(rounds + 1)")
a_round_less = edit(COMPARE, "a_round_less", "range(rounds)", "range(max(rounds - 1, 1))")
relative = edit(COMPARE, "relative", "rtol=0, atol=1e-3", "rtol=1e-3")
strict = edit(COMPARE, "strict", SAME, "np.array_equal(first(x), second(x))")
by_sums = edit(COMPARE, "by_sums", SAME, "abs(first(x).sum() - second(x).sum()) < 1e-3")
mean_difference = edit(
    COMPARE, "mean_difference", SAME, "np.abs(first(x) - second(x)).mean() < 1e-3"
)
signed = edit(COMPARE, "signed", SAME, "(first(x) - second(x)).max() < 1e-3")
nan_passes = edit(COMPARE, "nan_passes", SAME, "not (abs(first(x) - second(x)) > 1e-3).any()")
one_close = edit(COMPARE, "one_close", SAME, "(abs(first(x) - second(x)) < 1e-3).any()")
with_rtol = edit(COMPARE, "with_rtol", "rtol=0, atol=1e-3", "atol=1e-3")
as_sets = edit(
    COMPARE,
    "as_sets",
    SAME,
    "np.allclose(np.sort(first(x)), np.sort(second(x)), rtol=0, atol=1e-3)",
)
nan_is_nan = edit(COMPARE, "nan_is_nan", "atol=1e-3", "atol=1e-3, equal_nan=True")
by_length = edit(COMPARE, "by_length", SAME, "np.linalg.norm(first(x) - second(x)) <= 1e-3")
first_number = edit(COMPARE, "first_number", SAME, "abs(first(x) - second(x))[0] <= 1e-3")
a_hundredth = edit(COMPARE, "a_hundredth", "atol=1e-3", "atol=1e-2")
upper_middle = edit(
    COMPARE,
    "upper_middle",
    MEDIANS,
    "return [sorted(t)[rounds // 2] for t in (times_of_first, times_of_second)]",
)
middle_round = edit(
    COMPARE,
    "middle_round",
    MEDIANS,
    "return times_of_first[rounds // 2], times_of_second[rounds // 2]",
)
means = edit(COMPARE, "means", MEDIANS, MEDIANS.replace("median", "mean"))
fastest = edit(COMPARE, "fastest", MEDIANS, MEDIANS.replace("median", "min"))
the_other_way = edit(
    COMPARE,
    "the_other_way",
    MEDIANS,
    "return np.median(times_of_second), np.median(times_of_first)",
)
a_ratio = edit(COMPARE, "a_ratio", MEDIANS, "return np.median(times_of_first) / 2")
one_then_the_other = edit(
    COMPARE,
    "one_then_the_other",
    "    for _ in range(rounds):\n"
    "        for function, times in ((first, times_of_first), (second, times_of_second)):\n",
    "    for function, times in ((first, times_of_first), (second, times_of_second)):\n"
    "        for _ in range(rounds):\n",
)
other_inputs = edit(
    COMPARE, "other_inputs", "            function(x)\n", "            function(0 * x)\n"
)
clears_x = edit(COMPARE, "clears_x", MEDIANS, f"x[:] = 0\n    {MEDIANS}")
own_clock = edit(
    COMPARE,
    "own_clock",
    "start = clock()",
    "from time import perf_counter\n            perf_counter()\n            start = clock()",
)


def compares_the_timed(first, second, x, rounds, clock, wait, warm=()):
    for function in warm:
        function(x)
        wait()
    times = np.zeros((rounds, 2))
    for row in times:
        results = []
        for place, function in enumerate((first, second)):
            start = clock()
            results.append(function(x))
            wait()
            row[place] = clock() - start
    if not np.allclose(*results, rtol=0, atol=1e-3):
        return None
    return np.median(times, axis=0)


def warms_the_first(first, second, x, rounds, clock, wait):
    return compares_the_timed(first, second, x, rounds, clock, wait, warm=(first,))


def waits_for_both_at_once(first, second, x, rounds, clock, wait):
    same = np.allclose(first(x), second(x), rtol=0, atol=1e-3)
    wait()
    if not same:
        return None
    pairs = []
    for _ in range(rounds):
        start = clock()
        first(x)
        between = clock()
        second(x)
        wait()
        pairs.append((between - start, clock() - between))
    return np.median(pairs, axis=0)


def second_first(first, second, x, rounds, clock, wait):
    import statistics

    for _ in range(2):
        new, old = second(x), first(x)
        wait()
    if not np.allclose(new, old, rtol=0, atol=1e-3):
        return None
    took = {"first": [], "second": []}
    for _ in range(rounds):
        wait()
        begin = clock()
        second(x)
        wait()
        middle = clock()
        first(x)
        wait()
        end = clock()
        took["second"].append(middle - begin)
        took["first"].append(end - middle)
    return [statistics.median(took["first"]), statistics.median(took["second"])]


def by_sorting(first, second, x, rounds, clock, wait):
    def once(function):
        start = clock()
        result = function(x)
        wait()
        return clock() - start, result

    (_, a), (_, b) = once(first), once(second)
    if not abs(a - b).max() <= 1e-3:
        return None
    pairs = [(once(first)[0], once(second)[0]) for _ in range(rounds)]
    times = np.sort(np.array(pairs), axis=0)
    return (times[(rounds - 1) // 2] + times[rounds // 2]) / 2


PLANTED = {
    LORA: [
        (no_factor, "without its factor"),
        (alpha_alone, "not divided by the rank"),
        (rank_by_columns, "number of inputs"),
        (rank_by_outputs, "number of outputs"),
        (upside_down, "upside down"),
        (update_only, "frozen weights w are missing"),
        (not_merged, "a and b do nothing"),
        (rank_by_inputs_rows, "number of rows of x"),
        (whole_division, "cut off to a whole number"),
        (alpha_of_example, "as in the example"),
        (merged_by_shape, "something is kept from one call to the next"),
        (merges_in_place, "changes its input w"),
        (lora_by_labkit, "torch"),
    ],
    COMPARE: [
        (cold, "once before, and compare"),
        (hurries, "before the work is done"),
        (signed, "A difference below 0 is overlooked"),
        (strict, "two right kernels may round differently"),
        (mean_difference, "The mean difference is small"),
        (one_round, "times, and there are"),
        (a_round_more, "is the median of 10 calls"),
        (a_round_less, "is the median of 8 calls"),
        (relative, "held against the size"),
        (nan_passes, "A result that is NaN passes"),
        (one_close, "only where all numbers differ"),
        (compares_the_timed, "in it: call both once before."),
        (warms_the_first, "Only first is called before"),
        (waits_for_both_at_once, "so second pays for both"),
        (by_sums, "Sums are compared"),
        (warm_up_runs_on, "wait after it, too"),
        (trusts, "results are not the same"),
        (means, "One disturbed call spoils the mean"),
        (fastest, "may be a lucky one"),
        (the_other_way, "that of first comes first"),
        (one_then_the_other, "call them in turn"),
        (a_ratio, "two numbers"),
        (other_inputs, "another input than x"),
        (with_rtol, "also allows rtol=1e-5"),
        (as_sets, "are sorted before they are compared"),
        (nan_is_nan, "not even with NaN"),
        (by_length, "many small differences"),
        (first_number, "Only the first numbers are compared"),
        (a_hundredth, "A difference of up to 0.01 passes"),
        (upper_middle, "one of the two middle values"),
        (middle_round, "in the middle of the rounds"),
        (clears_x, "changes its input"),
        (own_clock, "time.perf_counter"),
    ],
}
ALSO_RIGHT = {
    LORA: [through_the_merged, by_each_rank],
    COMPARE: [second_first, by_sorting],
}
X = np.array([[1.0, -2.0, 3.0]])
A = np.array([[2.0, 1.0, -1.0]])
NOTHING = np.zeros((2, 3))
RIGHT_ON = {
    merged_by_shape: (np.ones((9, 3)), np.zeros((2, 3)), A, np.array([[1.0], [2.0]]), 2.0),
    update_only: (X, NOTHING, A, np.array([[1.0], [2.0]]), 2.0),
    not_merged: (X, np.arange(6.0).reshape(2, 3), A, np.zeros((2, 1)), 2.0),
}
