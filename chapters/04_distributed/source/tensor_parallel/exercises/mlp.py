"""Exercise distributed.split_mlp: an MLP in parts, columns first and then rows, in real ranks.

Dense: each wrong idea is the formula of the two layers with one slip in it.
"""

from collections.abc import Callable, Sequence
from math import erf, pi, sqrt

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit_lessons.distributed.tensor_parallel import solutions
from labkit_lessons.distributed.tensor_parallel.exercises.cost import (
    FORBIDDEN,
    drawn,
    everywhere,
    one_all_reduce,
)


def parts_of_mlp(
    rng: np.random.Generator, ranks: int, tokens: int, width: int, *hidden: int
) -> list[tuple[np.ndarray, ...]]:
    """For each rank the same x and last bias, and as many hidden numbers as `hidden` says."""
    x, last = drawn(rng, tokens, width), drawn(rng, width)
    expand, bias = drawn(rng, sum(hidden), width), drawn(rng, sum(hidden))
    contract = drawn(rng, width, sum(hidden))
    cuts = np.cumsum(hidden)[:-1]
    columns = np.split(expand, cuts), np.split(bias, cuts)
    rows = np.split(contract, cuts, axis=1)
    return [(x, *part, last) for part in zip(*columns, rows, strict=True)]


def gelu(x: np.ndarray) -> np.ndarray:
    """x times the probability that a normal number is below it."""
    return x * (1 + np.vectorize(erf, otypes=[float])(x / sqrt(2))) / 2


def hidden_of(inputs: Sequence, activation: Callable = gelu) -> list[np.ndarray]:
    """Between the layers, in each rank."""
    return [activation(x @ expand.T + bias) for x, expand, bias, _, _ in inputs]


def products(inputs: Sequence, activation: Callable = gelu) -> list[np.ndarray]:
    """What each rank finds of the second layer."""
    parts = zip(hidden_of(inputs, activation), inputs, strict=True)
    return [hidden @ contract.T for hidden, (_, _, _, contract, _) in parts]


def gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    """GELU's approximation."""
    return x * (1 + np.tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))) / 2


def hidden_summed(inputs: Sequence, before: bool) -> np.ndarray:
    """As if `expand` needed an all-reduce, too; where parts are unlike, it cannot have one.

    before   whether the sum comes before GELU, or behind it
    """
    if len({expand.shape for _, expand, *_ in inputs}) > 1:
        return whole_mlp(inputs)
    hidden = sum(hidden_of(inputs, (lambda h: h) if before else gelu))
    if before:
        hidden = gelu(hidden)
    return sum(hidden @ contract.T for *_, contract, _ in inputs) + last_bias(inputs)


def last_bias(inputs: Sequence) -> np.ndarray:
    """Which all ranks have."""
    return inputs[0][4]


def whole_mlp(inputs: Sequence) -> np.ndarray:
    """In one piece: the parts are joined first."""
    x = inputs[0][0]
    expand = np.concatenate([one[1] for one in inputs]).astype(float)
    bias = np.concatenate([one[2] for one in inputs])
    contract = np.concatenate([one[3] for one in inputs], axis=1)
    return gelu(x @ expand.T + bias) @ contract.T + last_bias(inputs)


def first_bias_times(inputs: Sequence, factor: float) -> np.ndarray:
    """As if the first layer's bias were `factor` times as large."""
    changed = [
        (x, expand, np.float32(factor) * bias, contract, last)
        for x, expand, bias, contract, last in inputs
    ]
    return whole_mlp(changed)


def first_bias_late(inputs: Sequence) -> np.ndarray:
    """As if the first bias were added behind GELU."""
    hidden = [gelu(x @ expand.T) + bias for x, expand, bias, _, _ in inputs]
    parts = [one @ given[3].T for one, given in zip(hidden, inputs, strict=True)]
    return sum(parts) + last_bias(inputs)


def hidden_summed_alone(inputs: Sequence) -> list[np.ndarray]:
    """As if the all-reduce stood behind GELU, and not behind `contract`."""
    if len({expand.shape for _, expand, *_ in inputs}) > 1:
        return everywhere(whole_mlp(inputs), inputs)
    hidden = sum(hidden_of(inputs))
    return [hidden @ contract.T + last for *_, contract, last in inputs]


def in_all(output: Callable[[Sequence], np.ndarray]) -> Callable[[Sequence], list[np.ndarray]]:
    """output(inputs), the same in all ranks."""
    return lambda inputs: everywhere(output(inputs), inputs)


def with_activation(activation: Callable) -> Callable[[Sequence], list[np.ndarray]]:
    """The MLP with this function between its layers."""
    return in_all(lambda inputs: sum(products(inputs, activation)) + last_bias(inputs))


WRONG_MLP = dict(
    own=lambda inputs: [part + last_bias(inputs) for part in products(inputs)],
    bias_in_each=in_all(lambda inputs: sum(products(inputs)) + len(inputs) * last_bias(inputs)),
    half_a_bias_in_each=in_all(
        lambda inputs: sum(products(inputs)) + len(inputs) / np.float32(2) * last_bias(inputs)
    ),
    last_bias_in_0=lambda inputs: [
        sum(products(inputs)) + (rank == 0) * last_bias(inputs) for rank in range(len(inputs))
    ],
    hidden_summed_alone=hidden_summed_alone,
    gelu_by_sigmoid=with_activation(lambda h: h / (1 + np.exp(-1.702 * h))),
    no_last_bias=in_all(lambda inputs: sum(products(inputs))),
    no_first_bias=in_all(lambda inputs: first_bias_times(inputs, 0)),
    first_bias_divided=in_all(lambda inputs: first_bias_times(inputs, 1 / len(inputs))),
    first_bias_late=in_all(first_bias_late),
    last_bias_divided=in_all(
        lambda inputs: sum(products(inputs)) + last_bias(inputs) / len(inputs)
    ),
    gelu_twice=with_activation(lambda h: gelu(gelu(h))),
    gelu_behind_too=in_all(lambda inputs: gelu(whole_mlp(inputs))),
    gelu_before=in_all(lambda inputs: whole_mlp([(gelu(one[0]), *one[1:]) for one in inputs])),
    residual_too=in_all(lambda inputs: whole_mlp(inputs) + inputs[0][0]),
    silu=with_activation(lambda h: h / (1 + np.exp(-h))),
    averaged=in_all(lambda inputs: sum(products(inputs)) / len(inputs) + last_bias(inputs)),
    no_gelu=with_activation(lambda h: h),
    gelu_at_the_end=in_all(
        lambda inputs: gelu(sum(products(inputs, lambda h: h)) + last_bias(inputs))
    ),
    relu=with_activation(lambda h: np.maximum(h, 0)),
    gelu_by_tanh=with_activation(gelu_by_tanh),
    expand_summed=in_all(lambda inputs: hidden_summed(inputs, before=True)),
    gelus_summed=in_all(lambda inputs: hidden_summed(inputs, before=False)),
    only_in_0=lambda inputs: [
        (sum(products(inputs)) if rank == 0 else part) + last_bias(inputs)
        for rank, part in enumerate(products(inputs))
    ],
)

split_mlp = rank_exercise(
    "distributed.split_mlp",
    solution=solutions.split_mlp,
    cases=ranks_cases(
        {
            "two ranks": (2, 3, 4, 2, 2),
            "one number": (1, 1, 1, 1),
            "alone": (1, 2, 3, 5),
            "prime": (3, 5, 7, 3, 3, 3),
            "unlike parts": (2, 4, 3, 5, 2),
            "four ranks": (4, 6, 5, 4, 4, 4, 4),
            "one token": (3, 1, 6, 2, 2, 2),
        },
        parts_of_mlp,
        types={"four ranks": "float64"},
    ),
    oracle=lambda inputs: everywhere(whole_mlp(inputs), inputs),
    wrong=WRONG_MLP,
    results=("y",),
    atol=1e-5,
    demand=one_all_reduce(lambda inputs: inputs[0].nbytes),
    forbidden=FORBIDDEN,
)
