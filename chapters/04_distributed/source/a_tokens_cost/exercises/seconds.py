"""Exercise distributed.decode_seconds: a decode step on a machine, by the roofline.

Dense: each wrong idea is the formula of a roofline with one slip in it.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise


def steps(
    rng: np.random.Generator,
    sequences: int,
    size: int,
    busy: float,
    kv_heads: int,
    group: int,
    speed: float = 1.0,
) -> tuple:
    """A step, and a machine on which its FLOPs take `busy` times as long as its bytes.

    past [N]   tokens behind each sequence, all different; one sequence has none behind it
    group      heads of queries that share one of keys
    speed      of the machine, in times of a slow one, on which a step takes seconds
    """
    past = rng.permutation(40 + sequences)[:sequences]
    if sequences > 1 and 0 not in past:
        past[0] = 0
    weights = int(rng.integers(200, 4_000))
    layers = int(rng.integers(2, 7))
    heads = kv_heads * group
    head_width = int(rng.integers(3, 9))
    sizes = (past, weights, layers, heads, kv_heads, head_width, size)
    bandwidth = speed * float(rng.uniform(50, 500))
    peak = work()(*sizes)[0] / (busy * work()(*sizes)[1]) * bandwidth
    return *sizes, peak, bandwidth


def work(
    weights_read: Callable[[int], int] = lambda sequences: 1,
    tokens: Callable[[np.ndarray], np.ndarray] = lambda past: past + 2,
    kinds: int = 2,
    every_head: bool = False,
    one_layer: bool = False,
    sized: Callable[[int], tuple[int, int]] = lambda size: (size, size),
    of_all: bool = True,
    attends: bool = True,
) -> Callable[..., tuple[float, float]]:
    """FLOPs and bytes of a step, with one idea or another.

    weights_read   how often the weights are read, for so many sequences
    tokens         of how many tokens the cache is read or written, for each sequence
    sized          bytes of a weight, and of a number in the cache
    """

    def both(past, weights, layers, heads, kv_heads, head_width, size):
        sequences = len(past)
        seen = (past + 1).sum() if attends else 0
        flops = 2 * weights * (sequences if of_all else 1) + 4 * layers * heads * head_width * seen
        of_weight, of_number = sized(size)
        numbers = kinds * (1 if one_layer else layers) * head_width
        numbers *= heads if every_head else kv_heads
        cache = numbers * tokens(past).sum() * of_number
        return float(flops), float(weights_read(sequences) * weights * of_weight + cache)

    return both


def timed(join: Callable[[float, float], float] = max, **ideas: object) -> Callable[..., float]:
    """The seconds: join(those of the FLOPs, those of the bytes)."""

    def seconds(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
        sizes = (past, weights, layers, heads, kv_heads, head_width, size)
        flops, moved = work(**ideas)(*sizes)
        return join(flops / peak, moved / bandwidth)

    return seconds


def upside_down(*given: float) -> float:
    """As if the rates were divided by the work."""
    flops, moved = work()(*given[:-2])
    peak, bandwidth = given[-2:]
    return max(peak / flops, bandwidth / moved)


def with_sizes(**change: Callable[[dict[str, int]], int]) -> Callable[..., float]:
    """As if the cache had such sizes: change[name](all sizes) in place of each."""

    def seconds(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
        sizes = {"layers": layers, "heads": heads, "kv_heads": kv_heads, "head_width": head_width}
        of_cache = sizes | {name: of(sizes) for name, of in change.items()}
        flops, _ = work()(past, weights, *sizes.values(), size)
        _, moved = work()(past, weights, *of_cache.values(), size)
        return max(flops / peak, moved / bandwidth)

    return seconds


def one_by_one(share: bool) -> Callable[..., float]:
    """As if each sequence had a roofline of its own.

    share   whether it reads its part of the weights only, and not all of them
    """

    def seconds(past, weights, layers, heads, kv_heads, head_width, size, peak, bandwidth):
        in_all = 0.0
        for own in past:
            sizes = (np.array([own]), weights, layers, heads, kv_heads, head_width, size)
            flops, moved = work()(*sizes)
            if share:
                moved -= weights * size * (1 - 1 / len(past))
            in_all += max(flops / peak, moved / bandwidth)
        return in_all

    return seconds


def with_weights(past: np.ndarray, weights: int, read: int, *rest: float) -> float:
    """As if so many weights were read."""
    sizes, peak, bandwidth = rest[:-2], *rest[-2:]
    flops, moved = work()(past, weights, *sizes)
    size = sizes[-1]
    return max(flops / peak, (moved + (read - weights) * size) / bandwidth)


def without_brackets(past: np.ndarray, weights: int, *rest: float) -> float:
    """As if the 2 alone were multiplied by a token's bytes."""
    flops, _ = work()(past, weights, *rest[:-2])
    layers, _, kv_heads, head_width, size, peak, bandwidth = rest
    moved = weights * size + past.sum() + 2 * (2 * layers * kv_heads * head_width * size)
    return max(flops / peak, moved / bandwidth)


decode_seconds = exercise(
    "distributed.decode_seconds",
    oracle=timed(),
    cases=cases_of(
        {
            "one sequence, bound by bandwidth": (1, 2, 0.2, 3, 3),
            "two, bound by compute": (2, 4, 1.7, 2, 3),
            "three, nearly balanced": (3, 1, 0.98, 5, 5),
            "four, nearly balanced": (4, 2, 1.02, 4, 3),
            "prime": (7, 2, 0.5, 2, 4),
            "ragged, bound by compute": (33, 1, 3.0, 3, 2),
            "some milliseconds": (3, 2, 0.3, 2, 2, 1e4),
        },
        steps,
    ),
    wrong={
        "for_each_sequence": timed(weights_read=lambda sequences: sequences),
        "every_head": timed(every_head=True),
        "group_in_cache": with_sizes(kv_heads=lambda sizes: sizes["heads"] // sizes["kv_heads"]),
        "no_width": with_sizes(head_width=lambda sizes: 1),
        "no_heads": with_sizes(kv_heads=lambda sizes: 1),
        "weights_in_every_layer": lambda past, weights, layers, *rest: with_weights(
            past, weights, layers * weights, layers, *rest
        ),
        "weights_twice": lambda past, weights, *rest: with_weights(
            past, weights, 2 * weights, *rest
        ),
        "two_bytes": timed(sized=lambda size: (2, 2)),
        "upside_down": upside_down,
        "half_of_both": lambda *given: timed(lambda flops, moved: (flops + moved) / 2)(*given),
        "keys_only": timed(kinds=1),
        "one_layer": timed(one_layer=True),
        "not_written": timed(tokens=lambda past: past + 1),
        "one_is_new": timed(tokens=lambda past: past + 2 / len(past)),
        "new_not_read": timed(tokens=lambda past: past),
        "longest_alone": timed(tokens=lambda past: past.max(keepdims=True) + 2),
        "all_as_long": timed(tokens=lambda past: past.max() + 2 + 0 * past),
        "without_brackets": without_brackets,
        "size_twice": timed(sized=lambda size: (size, size**2)),
        "in_a_second": lambda past, *rest: len(past) / timed()(past, *rest),
        "written_only": timed(tokens=lambda past: 1 + 0 * past),
        "old_ones_written": timed(tokens=lambda past: 2 * (past + 1)),
        "no_cache": timed(tokens=lambda past: 0 * past),
        "no_weights": timed(weights_read=lambda sequences: 0),
        "numbers_not_bytes": timed(sized=lambda size: (1, 1)),
        "weights_in_numbers": timed(sized=lambda size: (1, size)),
        "cache_in_numbers": timed(sized=lambda size: (size, 1)),
        "bits": timed(lambda flops, moved: max(flops, 8 * moved)),
        "flops_of_one": timed(of_all=False),
        "no_attention": timed(attends=False),
        "each_by_itself": one_by_one(share=False),
        "shares_of_weights": one_by_one(share=True),
        "one_after_the_other": timed(lambda flops, moved: flops + moved),
        "the_shorter": timed(min),
        "in_milliseconds": timed(lambda flops, moved: round(max(flops, moved), 3)),
        "bytes_only": timed(lambda flops, moved: moved),
        "flops_only": timed(lambda flops, moved: flops),
    },
    outputs=("seconds",),
    dtype="float",
    atol=0.0,  # a step takes milliseconds or microseconds: only a share of them is a tolerance
    forbidden=(*LIBRARIES, "labkit.distributed.costs.inference_costs"),
)
