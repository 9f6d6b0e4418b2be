"""Wrong and right answers for lesson a_tokens_cost."""

import numpy as np

from tests.exercises.edits import edit

# --- distributed.step_flops

FLOPS = "distributed.step_flops"
ATTENTION = "4 * new * (past + new) * queries * layers"
macs = edit(FLOPS, "macs", "return matrices + attention", "return (matrices + attention) / 2")
without_attention = edit(FLOPS, "without_attention", ATTENTION, "0 * past")
scores_only = edit(FLOPS, "scores_only", "4 * new", "2 * new")
first_layer = edit(FLOPS, "first_layer", " * queries * layers", " * queries")
only_older = edit(FLOPS, "only_older", "(past + new)", "past")
among_new = edit(FLOPS, "among_new", "(past + new)", "(0 * past + new)")
last_token = edit(FLOPS, "last_token", "4 * new * (", "4 * (")
one_row = edit(FLOPS, "one_row", "2 * new * weights", "2 * weights")
as_masked = edit(FLOPS, "as_masked", "new * (past + new)", "(new * past + new * (new + 1) / 2)")
no_cache = edit(
    FLOPS,
    "no_cache",
    "2 * new * weights",
    "2 * (past + new) * weights",
    ("4 * new * (past + new)", "4 * (past + new) ** 2"),
)
every_layer = edit(FLOPS, "every_layer", "2 * new * weights", "2 * new * weights * layers")
all_multiplied = edit(FLOPS, "all_multiplied", "2 * new * weights", "2 * (past + new) * weights")
and_one = edit(FLOPS, "and_one", "(past + new)", "(past + 1)")
counted_twice = edit(FLOPS, "counted_twice", "4 * new", "8 * new")
not_with_itself = edit(FLOPS, "not_with_itself", "(past + new)", "(past + new - 1)")
all_read = edit(FLOPS, "all_read", "new * (past + new)", "(past + new) ** 2")
summed_matrices = edit(FLOPS, "summed_matrices", "2 * new", "2 * len(past) * new")
masked_before_itself = edit(
    FLOPS, "masked_before_itself", "new * (past + new)", "sum(past + i for i in range(new))"
)
unless_empty = edit(FLOPS, "unless_empty", "(past + new)", "(past + new) * (past > 0)")
in_32_bits = edit(
    FLOPS, "in_32_bits", "matrices + attention", "(matrices + attention).astype('i4')"
)
two_layers = edit(FLOPS, "two_layers", "queries * layers", "queries * 2")
KEPT = {}
kept_by_length = edit(
    FLOPS, "kept_by_length", "(past + new)", "KEPT.setdefault((len(past), new), past + new)"
)
kept_by_length.__globals__["KEPT"] = KEPT
in_place = edit(FLOPS, "in_place", "    matrices", "    past += new\n    past -= 1\n    matrices")


def by_torch(past, new, weights, layers, queries):
    import torch

    seen = torch.tensor(past) + new
    return (2 * new * weights + 4 * new * seen * queries * layers).numpy()


def token_by_token(past, new, weights, layers, queries):
    flops = []
    for before in past:
        all_of_them = before + new
        one = 2 * weights
        for _ in range(layers):
            one += 2 * queries * all_of_them + 2 * all_of_them * queries
        flops.append(new * one)
    return np.array(flops, dtype="f8")


def in_single_floats(past, new, weights, layers, queries):
    per_token = np.float32(2 * weights) + 4.0 * layers * queries * np.add(past, new)
    return (new * per_token).astype(np.float32)


# --- distributed.attend_one

ATTEND = "distributed.attend_one"
SCALE = " / np.sqrt(q.shape[1])"
READ = "keys[:, h // group]"
unscaled = edit(ATTEND, "unscaled", SCALE, "")
by_width = edit(ATTEND, "by_width", "np.sqrt(q.shape[1])", "q.shape[1]")
by_heads = edit(ATTEND, "by_heads", "q.shape[1]", "len(q)")
by_tokens = edit(ATTEND, "by_tokens", "q.shape[1]", "len(keys)")
by_q = edit(ATTEND, "by_q", "q.shape[1]", "q.size")
raw_scores = edit(ATTEND, "raw_scores", f"softmax({READ} @ q[h]{SCALE})", f"{READ} @ q[h]{SCALE}")
powers_only = edit(ATTEND, "powers_only", "weights = softmax(", "weights = np.exp(")
mean_of_all = edit(
    ATTEND, "mean_of_all", "weights @ values[:, h // group]", "values[:, h // group].mean(0)"
)
hardmax = edit(
    ATTEND,
    "hardmax",
    "weights @ values[:, h // group]",
    "values[weights.argmax(), h // group]",
)
alternating = edit(
    ATTEND,
    "alternating",
    READ,
    "keys[:, h % len(k)]",
    ("values[:, h // group]", "values[:, h % len(k)]"),
)
always_head_0 = edit(
    ATTEND, "always_head_0", READ, "keys[:, 0]", ("values[:, h // group]", "values[:, 0]")
)
same_number = edit(
    ATTEND, "same_number", READ, "keys[:, h]", ("values[:, h // group]", "values[:, h]")
)
left_over = edit(
    ATTEND,
    "left_over",
    READ,
    "keys[:, min(h, len(k) - 1)]",
    ("values[:, h // group]", "values[:, min(h, len(k) - 1)]"),
)
as_many_as_keys = edit(ATTEND, "as_many_as_keys", "group = len(q) // len(k)", "group = len(k)")
reads_keys = edit(ATTEND, "reads_keys", "@ values[:, h", "@ keys[:, h")
newest_first = edit(
    ATTEND,
    "newest_first",
    "np.concatenate([keys, k[None]])",
    "np.concatenate([k[None], keys])",
    ("np.concatenate([values, v[None]])", "np.concatenate([v[None], values])"),
)
newest_key_first = edit(
    ATTEND,
    "newest_key_first",
    "np.concatenate([keys, k[None]])",
    "np.concatenate([k[None], keys])",
)
own_only = edit(
    ATTEND, "own_only", READ, "keys[-1:, h // group]", ("values[:, h //", "values[-1:, h //")
)

by_2 = edit(ATTEND, "by_2", "np.sqrt(q.shape[1])", "2")
times_the_root = edit(ATTEND, "times_the_root", SCALE, " * np.sqrt(q.shape[1])")
shares_divided = edit(ATTEND, "shares_divided", f"@ q[h]{SCALE})", "@ q[h]) / np.sqrt(q.shape[1])")
two_by_two = edit(
    ATTEND,
    "two_by_two",
    READ,
    "keys[:, min(h // 2, len(k) - 1)]",
    ("values[:, h // group]", "values[:, min(h // 2, len(k) - 1)]"),
)
first_values = edit(ATTEND, "first_values", "values[:, h // group]", "values[:, 0]")
slides = edit(
    ATTEND,
    "slides",
    "return mixed, keys, values",
    "old = min(len(keys) - 1, 1)\n    return mixed, keys[old:], values[old:]",
)
CACHES = {}
cache_by_size = edit(
    ATTEND,
    "cache_by_size",
    "np.concatenate([keys, k[None]])",
    "CACHES.setdefault((q.shape, keys.shape), np.concatenate([keys, k[None]]))",
)
cache_by_size.__globals__["CACHES"] = CACHES


def others_only(q, k, v, keys, values):
    mixed = _mixed(q, keys, values) if len(keys) else np.zeros_like(q)
    return mixed, np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])


def old_cache(q, k, v, keys, values):
    group = len(q) // len(k)
    mixed = np.zeros_like(q)
    for h in range(len(q)):
        scores = keys[:, h // group] @ q[h] / np.sqrt(q.shape[1])
        powers = np.exp(scores - scores.max())
        mixed[h] = powers / powers.sum() @ values[:, h // group]
    return mixed, np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])


def softmax_of_all(q, k, v, keys, values):
    keys, values = np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])
    group = len(q) // len(k)
    scores = np.stack([keys[:, h // group] @ q[h] for h in range(len(q))]) / np.sqrt(q.shape[1])
    powers = np.exp(scores - scores.max())
    weights = powers / powers.sum()
    mixed = np.stack([weights[h] @ values[:, h // group] for h in range(len(q))])
    return mixed, keys, values


def softmax_of_heads(q, k, v, keys, values):
    keys, values = np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])
    group = len(q) // len(k)
    scores = np.stack([keys[:, h // group] @ q[h] for h in range(len(q))]) / np.sqrt(q.shape[1])
    powers = np.exp(scores - scores.max(axis=0))
    weights = powers / powers.sum(axis=0)
    mixed = np.stack([weights[h] @ values[:, h // group] for h in range(len(q))])
    return mixed, keys, values


def in_the_query(q, k, v, keys, values):
    q /= np.sqrt(q.shape[1])
    keys, values = np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])
    return _mixed(q * np.sqrt(q.shape[1]), keys, values), keys, values


def with_torch(q, k, v, keys, values):
    import torch

    keys, values = np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])
    group = len(q) // len(k)
    wide = [torch.tensor(x).repeat_interleave(group, 1).transpose(0, 1) for x in (keys, values)]
    mixed = torch.nn.functional.scaled_dot_product_attention(torch.tensor(q)[:, None], *wide)
    return mixed[:, 0].numpy(), keys, values


def _mixed(q, keys, values):
    group = len(q) // keys.shape[1]
    scores = np.einsum("hw,phw->hp", q, np.repeat(keys, group, axis=1)) / q.shape[1] ** 0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("hp,phw->hw", weights, np.repeat(values, group, axis=1))


def powers_overflow(q, k, v, keys, values):
    keys, values = np.append(keys, [k], axis=0), np.append(values, [v], axis=0)
    mixed = []
    for h, query in enumerate(q):
        place = h * len(k) // len(q)
        powers = np.exp(keys[:, place] @ query / np.sqrt(len(query)))
        mixed.append(powers @ values[:, place] / powers.sum())
    return np.stack(mixed), keys, values


def by_einsum(q, k, v, keys, values):
    keys, values = np.vstack([keys, k[None]]), np.append(values, [v], axis=0)
    return _mixed(q, keys, values), keys, values


def by_groups(q, k, v, keys, values):
    keys, values = np.concatenate([keys, k[None]]), np.concatenate([values, v[None]])
    grouped = q.reshape(len(k), -1, q.shape[1])
    mixed = []
    for place, queries in enumerate(grouped):
        scores = queries @ keys[:, place].T * q.shape[1] ** -0.5
        weights = np.exp(scores - scores.max(1, keepdims=True))
        mixed.append(weights @ values[:, place] / weights.sum(1, keepdims=True))
    return np.concatenate(mixed), keys, values


# --- distributed.decode_seconds

SECONDS = "distributed.decode_seconds"
WEIGHTS = "weights * size"
TOKENS = "(past + 2).sum()"
WHOLE = f"{WEIGHTS} + {TOKENS} * token"
AT_BEST = "max(flops / peak, moved / bandwidth)"
again_for_each = edit(SECONDS, "again_for_each", WEIGHTS, "len(past) * weights * size")
queries_cached = edit(SECONDS, "queries_cached", "layers * kv_heads", "layers * heads")
half_a_cache = edit(SECONDS, "half_a_cache", "token = 2 * layers", "token = layers")
flat = edit(SECONDS, "flat", "token = 2 * layers * kv", "token = 2 * kv")
never_written = edit(SECONDS, "never_written", "past + 2", "past + 1")
old_only = edit(SECONDS, "old_only", TOKENS, "past.sum()")
new_only = edit(SECONDS, "new_only", TOKENS, "len(past)")
all_rewritten = edit(SECONDS, "all_rewritten", TOKENS, "(2 * past + 2).sum()")
weights_alone = edit(SECONDS, "weights_alone", WHOLE, WEIGHTS)
cache_alone = edit(SECONDS, "cache_alone", WHOLE, f"{TOKENS} * token")
numbers = edit(SECONDS, "numbers", f"moved = {WHOLE}", f"moved = weights + {TOKENS} * token / size")
plain_weights = edit(SECONDS, "plain_weights", WEIGHTS, "weights")
two_in_all = edit(SECONDS, "two_in_all", TOKENS, "(past.sum() + 2)")
in_bits = edit(SECONDS, "in_bits", "moved / bandwidth", "8 * moved / bandwidth")
cache_numbers = edit(SECONDS, "cache_numbers", " * head_width * size", " * head_width")
added = edit(SECONDS, "added", AT_BEST, "flops / peak + moved / bandwidth")
fastest = edit(SECONDS, "fastest", AT_BEST, "min(flops / peak, moved / bandwidth)")
moved_only = edit(SECONDS, "moved_only", AT_BEST, "moved / bandwidth")
flops_only = edit(SECONDS, "flops_only", AT_BEST, "flops / peak")
of_one = edit(
    SECONDS,
    "of_one",
    AT_BEST,
    "max((flops - 2 * weights * (len(past) - 1)) / peak, moved / bandwidth)",
)
just_matrices = edit(
    SECONDS, "just_matrices", AT_BEST, "max(2 * weights * len(past) / peak, moved / bandwidth)"
)
grows = edit(SECONDS, "grows", "    token =", "    past += 2\n    token =", ("(past + 2)", "past"))

shared_by = edit(SECONDS, "shared_by", "layers * kv_heads", "layers * (heads // kv_heads)")
narrow = edit(SECONDS, "narrow", " * head_width * size", " * size")
deep_weights = edit(SECONDS, "deep_weights", WEIGHTS, "layers * weights * size")
written_weights = edit(SECONDS, "written_weights", WEIGHTS, "2 * weights * size")
always_2_bytes = edit(SECONDS, "always_2_bytes", "    token =", "    size = 2\n    token =")
rates_over_work = edit(SECONDS, "rates_over_work", AT_BEST, "max(peak / flops, bandwidth / moved)")
whole_seconds = edit(SECONDS, "whole_seconds", AT_BEST, f"int({AT_BEST})")
to_thousandths = edit(SECONDS, "to_thousandths", AT_BEST, f"round({AT_BEST}, 3)")
MOVED = {}
bytes_by_length = edit(
    SECONDS, "bytes_by_length", WHOLE, f"MOVED.setdefault((len(past), size), {WHOLE})"
)
bytes_by_length.__globals__["MOVED"] = MOVED


def summed(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    flops = 2 * weights + 4 * (past + 1) * heads * head_width * layers
    moved = weights * size + (past + 2) * 2 * layers * kv_heads * head_width * size
    return np.maximum(flops / peak, moved / bandwidth).sum()


def summed_shares(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    flops = 2 * weights + 4 * (past + 1) * heads * head_width * layers
    cache = (past + 2) * 2 * layers * kv_heads * head_width * size
    moved = weights * size / len(past) + cache
    return np.maximum(flops / peak, moved / bandwidth).sum()


def by_labkit(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    from labkit.distributed.costs.inference_costs import Work
    from labkit.distributed.costs.language_models import LanguageModel

    model = LanguageModel("x", "x", layers, 1, heads, kv_heads, head_width, 1, False, 1, True, "x")
    flops = 2 * weights * len(past) + sum(model.attention_flops(1, int(p)) for p in past)
    moved = weights * size + (past + 2).sum() * model.kv_bytes_per_token(size)
    step = Work(flops, moved)
    return float(max(step.flops / peak, step.bytes / bandwidth, step.intensity * 0))


def in_a_loop(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    flops = moved = 0
    for before in past:
        flops += 2 * weights + layers * heads * 2 * 2 * head_width * (before + 1)
        reads, writes = before + 1, 1
        moved += layers * kv_heads * (head_width + head_width) * (reads + writes)
    seconds = [flops / peak, (moved + weights) * size / bandwidth]
    return np.float64(sorted(seconds)[-1])


def by_intensity(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
    sequences = past.size
    flops = 2 * sequences * weights + 4 * layers * heads * head_width * (past.sum() + sequences)
    numbers = weights + 2 * layers * kv_heads * head_width * (past.sum() + 2 * sequences)
    return flops / min(peak, flops / (numbers * size) * bandwidth)


PLANTED = {
    FLOPS: [
        (macs, "a multiplication with its addition is two FLOPs"),
        (without_attention, "Attention is missing"),
        (scores_only, "one of two products is missing"),
        (first_layer, "the attention of one layer"),
        (only_older, "A new token also reads from the new ones"),
        (among_new, "The new tokens meet only each other"),
        (last_token, "In attention, this counts one new token"),
        (one_row, "Only one new token is multiplied with the matrices"),
        (as_masked, "leaves out what the mask hides"),
        (no_cache, "The old tokens are computed again"),
        (every_layer, "The weights are multiplied with the layers"),
        (all_multiplied, "The matrices multiply the old tokens again"),
        (and_one, "Only one new token is among those that are met"),
        (counted_twice, "In attention, this is twice as much"),
        (not_with_itself, "and not one less"),
        (all_read, "the old tokens read once more"),
        (summed_matrices, "FLOPs of all sequences are added"),
        (masked_before_itself, "meets only the tokens before it"),
        (two_layers, "layers does not count"),
        (unless_empty, "Where the cache is empty, attention costs nothing"),
        (in_32_bits, "is cut to 32 bits"),
        (kept_by_length, "one sequence again"),
        (in_place, "changes its input"),
        (by_torch, "torch"),
    ],
    ATTEND: [
        (unscaled, "not divided by the root"),
        (by_width, "divided by the head's width"),
        (by_heads, "root of the number of heads"),
        (by_tokens, "root of the number of tokens"),
        (by_q, "root of all numbers in q"),
        (raw_scores, "There is no softmax"),
        (powers_overflow, "Powers of large scores overflow"),
        (powers_only, "The weights do not add up to 1"),
        (mean_of_all, "All tokens weigh the same"),
        (hardmax, "Only the token with the largest score"),
        (softmax_of_all, "One softmax goes over the scores of all heads"),
        (softmax_of_heads, "The softmax goes over the heads"),
        (old_cache, "does not read from itself: its own"),
        (others_only, "the first of all reads nothing"),
        (own_only, "reads only from itself"),
        (alternating, "take the heads of keys in turn"),
        (always_head_0, "All query heads read head 0"),
        (same_number, "Query head h reads head h of the keys"),
        (left_over, "serves all query heads that are left over"),
        (as_many_as_keys, "The groups are as large as there are heads of keys"),
        (reads_keys, "The keys are mixed"),
        (newest_first, "stands in front of the cache"),
        (newest_key_first, "key stands in front, and its value behind"),
        (by_2, "divided by 2"),
        (times_the_root, "multiplied by the root"),
        (shares_divided, "shares are divided by the root"),
        (two_by_two, "Two query heads always share"),
        (first_values, "read the values of head 0"),
        (slides, "The oldest token is taken out"),
        (cache_by_size, "something is kept from one call to the next"),
        (in_the_query, "changes its input"),
        (with_torch, "torch"),
    ],
    SECONDS: [
        (again_for_each, "The weights are read for each sequence"),
        (queries_cached, "as many heads as there are queries"),
        (half_a_cache, "The cache has keys and values"),
        (flat, "the cache of one layer"),
        (never_written, "are counted once here"),
        (old_only, "moves the old tokens' keys and values alone"),
        (new_only, "The cache is written, but never read"),
        (all_rewritten, "The whole cache is written again"),
        (weights_alone, "The bytes of the cache are missing"),
        (to_thousandths, "rounded to thousandths"),
        (cache_alone, "The bytes of the weights are missing"),
        (numbers, "These are numbers, not bytes"),
        (plain_weights, "The weights are counted in numbers"),
        (cache_numbers, "The cache is counted in numbers"),
        (two_in_all, "One new token is written and read for all sequences"),
        (in_bits, "The bytes are turned into bits"),
        (summed, "one step serves all of them"),
        (summed_shares, "the sequences are one step"),
        (of_one, "The matrices' FLOPs are those of one token"),
        (just_matrices, "The FLOPs of attention are missing"),
        (added, "The two times are added"),
        (fastest, "This is the shorter of the two times"),
        (moved_only, "This is always the time of the bytes"),
        (flops_only, "This is always the time of the FLOPs"),
        (shared_by, "which is how many queries share one"),
        (narrow, "A head counts as one number"),
        (deep_weights, "those of all layers together"),
        (written_weights, "The weights are moved twice"),
        (always_2_bytes, "2 bytes here, as in the example"),
        (rates_over_work, "The rates are divided by the work"),
        (whole_seconds, "it should hold floating-point numbers"),
        (bytes_by_length, "bound by bandwidth again"),
        (grows, "changes its input"),
        (by_labkit, "labkit.distributed.costs.inference_costs"),
    ],
}

NO_LAYERS = (np.array([3]), 2, 10, 0, 4)
ONE_LAYER = (np.array([3]), 2, 10, 1, 4)
A_PROMPT = (np.array([0]), 2, 10, 3, 4)
NO_SIZES = (np.array([0]), 1, 0, 0, 0)
ZEROS = (np.ones((1, 1)), *(np.zeros((1, 1)) for _ in "kv"), *(np.zeros((2, 1, 1)) for _ in "kv"))
NO_WEIGHTS = (np.array([0]), 0, 0, 1, 1, 1, 2, 1.0, 1.0)
RIGHT_ON = {
    macs: NO_SIZES,
    counted_twice: NO_LAYERS,
    not_with_itself: NO_LAYERS,
    all_read: NO_LAYERS,
    masked_before_itself: NO_LAYERS,
    two_layers: (np.array([3]), 2, 10, 2, 4),
    kept_by_length: (np.arange(9), 2, 10, 3, 4),  # a length that no case has
    times_the_root: ZEROS,
    cache_by_size: (
        np.ones((1, 1)),
        *(np.zeros((1, 1)) for _ in "kv"),
        *(np.zeros((9, 1, 1)) for _ in "kv"),
    ),
    narrow: NO_WEIGHTS,
    deep_weights: NO_WEIGHTS,
    written_weights: NO_WEIGHTS,
    rates_over_work: (np.array([0]), 0, 1, 1, 1, 1, 1, 4.0, 4.0),
    whole_seconds: (np.array([0]), 0, 1, 1, 1, 1, 1, 4.0, 1.0),
    bytes_by_length: (np.arange(9), 5, 1, 1, 1, 1, 1, 4.0, 1.0),
    without_attention: NO_LAYERS,
    scores_only: NO_LAYERS,
    first_layer: ONE_LAYER,
    every_layer: ONE_LAYER,
    only_older: NO_LAYERS,
    among_new: A_PROMPT,
    no_cache: A_PROMPT,
    all_multiplied: A_PROMPT,
    raw_scores: ZEROS,
    powers_only: ZEROS,
    others_only: ZEROS,
    old_cache: ZEROS,
    softmax_of_heads: ZEROS,
    reads_keys: ZEROS,
    added: NO_WEIGHTS,
    fastest: NO_WEIGHTS,
    in_bits: NO_WEIGHTS,
}
ALSO_RIGHT = {
    FLOPS: [token_by_token, in_single_floats],
    ATTEND: [by_einsum, by_groups],
    SECONDS: [in_a_loop, by_intensity],
}
