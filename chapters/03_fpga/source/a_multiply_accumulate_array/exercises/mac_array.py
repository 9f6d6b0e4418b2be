"""Exercise fpga.mac_array: a lane for each weight, and one x for all of them.

Dense: each wrong idea is what a slip in the circuit makes of the numbers, in one formula.
"""

from collections.abc import Callable, Iterable

import numpy as np

from labkit.checks.items import Case
from labkit.fpga.integers.packing import unpack
from labkit.fpga.integers.words import ends, term_words
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit_lessons.fpga.a_multiply_accumulate_array.exercises.shared import A_PIPELINE, int8
from labkit_lessons.fpga.a_multiply_accumulate_array.solutions import SOLUTIONS


def array_oracle(x, w):
    """x [images, D], w [LANES, D] int8 -> the sum of each lane [images, LANES]."""
    return x.astype(np.int64) @ w.T


def array_cases(rng: np.random.Generator) -> Iterable[Case]:
    """A packet of D words for each image, for 4 lanes and for fewer and more of them."""
    sizes = {
        "one word": (1, 1, 4),
        "two words": (1, 2, 4),
        "packets of one word": (13, 1, 4),
        "three lanes": (2, 5, 3),
        "many words, five lanes": (4, 16, 5),
        "one word again": (1, 1, 4),
    }
    for name, (images, D, lanes) in sizes.items():
        yield Case(name, (int8(rng, images, D), int8(rng, lanes, D)))


def array_drive(x: np.ndarray, w: np.ndarray) -> Drive:
    """A word {w of each lane, x} for each term."""
    images, D = x.shape
    lanes = len(w)
    terms = np.concatenate([term_words(image, w, lanes) for image in x])
    inputs = {"terms": terms, "terms_last": ends(D, images)}
    return Drive(inputs, words={"y": images}, parameters={"LANES": lanes})


def array_sums(simulation, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The lanes of each word that comes out."""
    return unpack(simulation.outputs["y"], len(w), 32)


def with_weights(change: Callable) -> Callable:
    """The sums with other weights than those of the lane."""
    return lambda x, w: array_oracle(x, change(w))


def one_byte_low(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lane 0 multiplies x by itself, and lane k takes the weight of lane k - 1."""
    squares = (x.astype(np.int64) ** 2).sum(axis=1)
    return np.column_stack([squares, array_oracle(x, w[:-1])])


def x_of_the_lane_below(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Lane k takes byte k for x: the weight of lane k - 1."""
    weights = w.astype(np.int64)
    pairs = np.tile((weights[:-1] * weights[1:]).sum(axis=1), (len(x), 1))
    return np.column_stack([array_oracle(x, w[:1]), pairs])


mac_array = rtl_exercise(
    "fpga.mac_array",
    top="mac_array",
    solution=SOLUTIONS["fpga.mac_array"],
    support=(SOLUTIONS["fpga.mac"],),
    drive=array_drive,
    cases=array_cases,
    oracle=array_oracle,
    read=array_sums,
    wrong={
        "same_weights": with_weights(lambda w: np.repeat(w[:1], len(w), axis=0)),
        "one_byte_low": one_byte_low,
        "four_weights": with_weights(lambda w: w[np.arange(len(w)) % 4]),
        "x_from_the_top": lambda x, w: np.tile(
            (w.astype(np.int64) * w[-1]).sum(axis=1), (len(x), 1)
        ),
        "lanes_reversed": with_weights(lambda w: w[::-1]),
        "x_of_each_lane": lambda x, w: (0 * x[:, :1]) + (w.astype(np.int64) ** 2).sum(axis=1),
        "x_alone": lambda x, w: np.repeat(
            (x.astype(np.int64) ** 2).sum(axis=1, keepdims=True), len(w), axis=1
        ),
        "x_of_the_lane_below": x_of_the_lane_below,
        "first_four": lambda x, w: np.where(np.arange(len(w)) < 4, array_oracle(x, w), 0),
        "one_byte_high": with_weights(lambda w: np.roll(w, -1, axis=0)),
        "x_of_byte_1": lambda x, w: np.tile((w.astype(np.int64) * w[0]).sum(axis=1), (len(x), 1)),
        "one_lane": lambda x, w: np.where(np.arange(len(w)) == 0, array_oracle(x, w), 0),
    },
    cycles=lambda x, w: x.size + A_PIPELINE,
    keeps=1,
    early_ready=True,
    gates={"dsp": 4, "lut": 400, "ff": 400},
    gate_parameters={"LANES": 4},
)
