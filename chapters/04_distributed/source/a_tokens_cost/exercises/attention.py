"""Exercise distributed.attend_one: attention of one new token, which reads from a cache.

Dense: each wrong idea is the formula of attention with one slip in it.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

Attended = tuple[np.ndarray, np.ndarray, np.ndarray]  # mixed [H,W], keys and values [P+1,K,W]
Head = Callable[[int, int, int], int]  # query head h, of H, and K heads of keys -> its head of keys


def token(
    rng: np.random.Generator,
    past: int,
    heads: int,
    kv_heads: int,
    width: int,
    size: float = 0,
) -> tuple:
    """q [H,W], k and v [K,W] of the new token; keys and values [P,K,W] of those before it.

    size    about what all scores of a head have in common: it has no effect on the softmax
    """
    shapes = ((heads, width), (kv_heads, width), (kv_heads, width))
    q, k, v = (rng.normal(size=shape) for shape in shapes)
    keys, values = rng.normal(size=(2, past, kv_heads, width))
    if size:
        q[:, 0] = rng.uniform(1, 1.2, heads)
        k[:, 0] += size * np.sqrt(width)
        keys[..., 0] += size * np.sqrt(width)
    return 1.5 * q, k, v, keys, values


def softmax(scores: np.ndarray) -> np.ndarray:
    """Of scores [n], above 0 and with the sum 1."""
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def unshifted(dots: np.ndarray, q: np.ndarray) -> np.ndarray:
    """A softmax without its maximum taken off: inf / inf for large scores, 0 / 0 for low ones."""
    with np.errstate(all="ignore"):
        powers = np.exp(dots / root_of_width(dots, q))
        return powers / powers.sum()


def divided(by: Callable[[np.ndarray, np.ndarray], float]) -> Callable[..., np.ndarray]:
    """The weights of the tokens by dots[n], q . key of each: `by(dots, q)` divides them first."""
    return lambda dots, q: softmax(dots / by(dots, q))


def root_of_width(dots: np.ndarray, q: np.ndarray) -> float:
    """Of q [H,W]."""
    return np.sqrt(q.shape[1])


scaled = divided(root_of_width)


def grouped(h: int, heads: int, kv_heads: int) -> int:
    """Neighbouring query heads share a head of keys."""
    return h // (heads // kv_heads)


def attended(
    weights: Callable[[np.ndarray, np.ndarray], np.ndarray] = scaled,
    head: Head = grouped,
    seen: slice = slice(None),
    mixes_keys: bool = False,
    of_nothing: bool = False,
) -> Callable[..., Attended]:
    """Attention of one token, with one idea or another: the oracle, or a wrong one.

    weights      weights(q . key of each token, q)
    seen         which of the tokens, the new one last, are read
    of_nothing   whether it gives zeros where no token is seen; a softmax of none raises ValueError
    """

    def attend(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
    ) -> Attended:
        all_keys = np.vstack([keys, k[None]])
        all_values = np.vstack([values, v[None]])
        mixed = np.zeros_like(q)
        for h, query in enumerate(q):
            place = head(h, len(q), len(k))
            own_keys = all_keys[seen, place]
            own_values = own_keys if mixes_keys else all_values[seen, place]
            if len(own_keys) or not of_nothing:
                mixed[h] = weights(own_keys @ query, q) @ own_values
        return mixed, all_keys, all_values

    return attend


def in_front(*given: np.ndarray) -> Attended:
    """As if the new token came first in the cache."""
    mixed, keys, values = attended()(*given)
    return mixed, np.roll(keys, 1, axis=0), np.roll(values, 1, axis=0)


def not_kept(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> Attended:
    """As if the cache stayed as it is."""
    return attended()(q, k, v, keys, values)[0], keys, values


def keys_in_front(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> Attended:
    """As if the new token came first among the keys, and last among the values."""
    _, all_keys, all_values = attended()(q, k, v, keys, values)
    rolled = np.roll(all_keys, 1, axis=0)
    mixed, _, _ = attended()(q, rolled[-1], v, rolled[:-1], values)
    return mixed, rolled, all_values


def forgets_the_oldest(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> Attended:
    """As if the cache stayed as long as it is."""
    mixed, all_keys, all_values = attended()(q, k, v, keys, values)
    oldest = min(len(keys), 1)
    return mixed, all_keys[oldest:], all_values[oldest:]


def values_of_head_0(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
) -> Attended:
    """As if only the keys had heads."""
    _, all_keys, all_values = attended()(q, k, v, keys, values)
    of_head_0 = np.repeat(all_values[:, :1], len(k), axis=1)
    mixed, _, _ = attended()(q, k, of_head_0[-1], keys, of_head_0[:-1])
    return mixed, all_keys, all_values


def scored_by(of: Callable[[int, int, int], float]) -> Callable[..., Attended]:
    """As if scores were divided by the root of(H, K, W)."""

    def attend(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
    ) -> Attended:
        divisor = of(len(q), len(k), q.shape[1])
        return attended(divided(lambda dots, q: np.sqrt(divisor)))(q, k, v, keys, values)

    return attend


def softmax_last(*given: np.ndarray) -> Attended:
    """As if the softmax were of what is read."""
    mixed, keys, values = attended(lambda dots, q: dots / root_of_width(dots, q))(*given)
    return np.stack([softmax(row) for row in mixed]), keys, values


def one_query_of_each_group(q: np.ndarray, k: np.ndarray, *rest: np.ndarray) -> Attended:
    """As if query head h were head h // group of the queries, too."""
    return attended()(q[np.arange(len(q)) // (len(q) // len(k))], k, *rest)


def last_share(dots: np.ndarray, q: np.ndarray) -> np.ndarray:
    """As if each token's share of its value took the place of the one before."""
    return scaled(dots, q) * (np.arange(len(dots)) == len(dots) - 1)


def among_all(weights: Callable[[np.ndarray], np.ndarray]) -> Callable[..., Attended]:
    """As if the softmax were not of each head by itself: weights(scores [H,P+1])."""

    def attend(
        q: np.ndarray, k: np.ndarray, v: np.ndarray, keys: np.ndarray, values: np.ndarray
    ) -> Attended:
        _, all_keys, all_values = attended()(q, k, v, keys, values)
        share = len(q) // len(k)
        scores = np.einsum("hw,phw->hp", q, all_keys.repeat(share, axis=1)) / np.sqrt(q.shape[1])
        mixed = np.einsum("hp,phw->hw", weights(scores), all_values.repeat(share, axis=1))
        return mixed, all_keys, all_values

    return attend


def over_heads(scores: np.ndarray) -> np.ndarray:
    """A softmax for each token."""
    return np.stack([softmax(column) for column in scores.T], axis=1)


attend_one = exercise(
    "distributed.attend_one",
    oracle=attended(),
    cases=cases_of(
        {
            "all sizes 1": (1, 1, 1, 1),
            "every head its own": (3, 2, 2, 4),
            "two share one": (2, 4, 2, 3),
            "all share one": (5, 3, 1, 2),
            "the first token": (0, 4, 2, 3),
            "prime": (7, 15, 5, 3),
            "ragged": (33, 6, 3, 5),
            "large scores": (3, 4, 2, 4, 600),
            "very negative scores": (5, 6, 2, 3, -600),
        },
        token,
    ),
    wrong={
        "not_divided": attended(divided(lambda dots, q: 1)),
        "by_the_width": attended(divided(lambda dots, q: q.shape[1])),
        "by_the_heads": attended(divided(lambda dots, q: np.sqrt(len(q)))),
        "by_the_tokens": attended(divided(lambda dots, q: np.sqrt(len(dots)))),
        "by_all_of_q": attended(divided(lambda dots, q: np.sqrt(q.size))),
        "by_two": attended(divided(lambda dots, q: 2)),
        "by_the_kv_heads": scored_by(lambda heads, kv_heads, width: kv_heads),
        "by_the_group": scored_by(lambda heads, kv_heads, width: heads // kv_heads),
        "multiplied": attended(divided(lambda dots, q: 1 / root_of_width(dots, q))),
        "divided_behind": attended(lambda dots, q: softmax(dots) / root_of_width(dots, q)),
        "no_softmax": attended(lambda dots, q: dots / root_of_width(dots, q)),
        "exp_only": attended(lambda dots, q: np.exp(dots / root_of_width(dots, q))),
        "unshifted": attended(unshifted),
        "shares_of_scores": attended(lambda dots, q: dots / dots.sum()),
        "softmax_last": softmax_last,
        "last_share": attended(last_share),
        "all_alike": attended(lambda dots, q: np.full(len(dots), 1 / len(dots))),
        "likeliest_only": attended(lambda dots, q: np.eye(len(dots))[dots.argmax()]),
        "over_heads": among_all(over_heads),
        "one_for_all_heads": among_all(softmax),
        "without_itself": attended(seen=slice(0, -1)),
        "first_reads_nothing": attended(seen=slice(0, -1), of_nothing=True),
        "itself_only": attended(seen=slice(-1, None)),
        "in_turn": attended(head=lambda h, heads, kv_heads: h % kv_heads),
        "first_head": attended(head=lambda h, heads, kv_heads: 0),
        "own_head": attended(head=lambda h, heads, kv_heads: h),
        "last_for_the_rest": attended(head=lambda h, heads, kv_heads: min(h, kv_heads - 1)),
        "pairs": attended(head=lambda h, heads, kv_heads: min(h // 2, kv_heads - 1)),
        "pairs_in_turn": attended(head=lambda h, heads, kv_heads: h // 2 % kv_heads),
        "in_turn_by_groups": attended(
            head=lambda h, heads, kv_heads: h % (heads // kv_heads) % kv_heads
        ),
        "one_query_of_each_group": one_query_of_each_group,
        "values_of_head_0": values_of_head_0,
        "forgets_the_oldest": forgets_the_oldest,
        "other_groups": attended(head=lambda h, heads, kv_heads: h // kv_heads),
        "keys_mixed": attended(mixes_keys=True),
        "in_front": in_front,
        "keys_in_front": keys_in_front,
        "not_kept": not_kept,
    },
    outputs=("mixed", "keys", "values"),
    forbidden=LIBRARIES,
    stub=lambda q, k, v, keys, values: (np.zeros_like(q), keys, values),
)
