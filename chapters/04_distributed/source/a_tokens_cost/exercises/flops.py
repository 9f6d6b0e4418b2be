"""Exercise distributed.step_flops: the FLOPs of new tokens behind those that are cached."""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise

EIGHT_BILLION = 28_628 * 2**18, 32, 4_096  # as Llama 3.1 8B; float32 holds these FLOPs exactly


EIGHT_BILLION = 28_628 * 2**18, 32, 4_096  # as Llama 3.1 8B; float32 holds these FLOPs exactly


def steps(
    rng: np.random.Generator, sequences: int, new: int, *model: int
) -> tuple[np.ndarray, int, int, int, int]:
    """Tokens behind each sequence [N], all different; new ones; weights, layers, query numbers.

    With several sequences, the last one's cache is empty. Without a model, a small one is drawn.
    """
    past = 1 + rng.permutation(60)[:sequences]
    if sequences > 1:
        past[-1] = 0
    weights = int(rng.integers(50, 5_000))
    layers = int(rng.integers(2, 9))
    queries = int(rng.integers(3, 40))
    return past, new, *(model or (weights, layers, queries))


def counted(
    products: Callable[[int, int], int] = lambda new, weights: 2 * new * weights,
    seen: Callable[[np.ndarray, int], np.ndarray] = lambda past, new: new * (past + new),
    factor: int = 4,
    one_layer: bool = False,
) -> Callable:
    """FLOPs of the matrices, and of attention: `seen` pairs of a new token and one that it sees."""

    def flops(past: np.ndarray, new: int, weights: int, layers: int, queries: int) -> np.ndarray:
        deep = 1 if one_layer else layers
        return products(new, weights) + factor * seen(past, new) * deep * queries

    return flops


def half(*given: object) -> np.ndarray:
    """As if a multiplication with an addition were one FLOP."""
    return counted()(*given) // 2


def in_every_layer(
    past: np.ndarray, new: int, weights: int, layers: int, queries: int
) -> np.ndarray:
    """As if every layer had all the weights."""
    return counted()(past, new, weights * layers, layers, queries)


def old_ones_multiplied(past: np.ndarray, new: int, weights: int, *sizes: int) -> np.ndarray:
    """As if the matrices multiplied the cached tokens, too."""
    return counted()(past, new, weights, *sizes) + 2 * past * weights


step_flops = exercise(
    "distributed.step_flops",
    oracle=counted(),
    cases=cases_of(
        {
            "one sequence": (1, 5),
            "one new token": (2, 1),
            "three, some new tokens": (3, 4),
            "prime": (7, 11),
            "ragged": (33, 2),
            "eight billion weights": (3, 2, *EIGHT_BILLION),
        },
        steps,
    ),
    wrong={
        "half": half,
        "matrices_only": counted(factor=0),
        "keys_only": counted(factor=2),
        "nothing_to_attend_to": counted(
            seen=lambda past, new: np.where(past > 0, new * (past + new), 0)
        ),
        "one_layer": counted(one_layer=True),
        "not_itself": counted(seen=lambda past, new: new * past),
        "new_only": counted(seen=lambda past, new: new * new + 0 * past),
        "one_sees": counted(seen=lambda past, new: past + new),
        "one_new_is_seen": counted(seen=lambda past, new: new * (past + 1)),
        "one_is_multiplied": counted(products=lambda new, weights: 2 * weights),
        "each_twice": counted(factor=8),
        "one_less": counted(seen=lambda past, new: new * (past + new - 1)),
        "old_ones_read": counted(seen=lambda past, new: (past + new) ** 2),
        "of_all_sequences": lambda past, new, weights, *sizes: (
            counted()(past, new, weights, *sizes) + 2 * new * weights * (len(past) - 1)
        ),
        "hidden_and_itself_left_out": counted(
            seen=lambda past, new: new * past + new * (new - 1) // 2
        ),
        "hidden_left_out": counted(seen=lambda past, new: new * past + new * (new + 1) // 2),
        "weights_of_one_layer": in_every_layer,
        "old_ones_multiplied": old_ones_multiplied,
        "old_ones_again": lambda past, new, weights, layers, queries: (
            2 * (past + new) * weights + 4 * (past + new) ** 2 * layers * queries
        ),
    },
    outputs=("flops",),
    dtype="any",
    forbidden=LIBRARIES,
)
