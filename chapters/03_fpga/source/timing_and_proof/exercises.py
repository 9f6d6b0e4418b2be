"""The exercises of lesson timing_and_proof: a stage, a pipelined tree, and a queue to repair."""

import numpy as np

from labkit.checks.lesson_files import cases_of
from labkit.fpga.judging.given_modules import QUEUE
from labkit.fpga.judging.rtl_exercise import Drive, rtl_exercise
from labkit_lessons.fpga.timing_and_proof import solutions

WORDS = {"one word": (1,), "two": (2,), "prime": (11,), "twenty": (20,), "many": (61,)}


def words(rng: np.random.Generator, n: int) -> tuple[np.ndarray]:
    """x[n] of 8 bits; where there is room, both ends of the range, and a word four times."""
    x = rng.permutation(np.setdiff1d(np.arange(-127, 127), [0]))[:n].astype(np.int8)
    if n > 10:
        x[[1, 7]] = -128, 127
        x[3:7] = x[3]
    return (x,)


def eights(rng: np.random.Generator, n: int) -> tuple[np.ndarray]:
    """x[n,8] of 16 bits and of both signs; no sum of eight leaves the 16 bits."""
    distinct = rng.permutation(np.setdiff1d(np.arange(-4095, 4096), [0]))
    return (distinct[: 8 * n].reshape(n, 8).astype(np.int16),)


def drive(x: np.ndarray) -> Drive:
    """All of x into the stream `in`, until as many words have left."""
    return Drive({"in": x}, words={"out": len(x)})


def held(x: np.ndarray) -> np.ndarray:
    """As if the first word stayed for ever."""
    return np.full(len(x), int(x[0]))


def moved_on(x: np.ndarray, places: int) -> np.ndarray:
    """As if words came out before they are there: the last ones are missing."""
    return np.concatenate([np.zeros(min(places, len(x)), int), x[: max(len(x) - places, 0)]])


def word_after(x: np.ndarray) -> np.ndarray:
    """As if each word came one register earlier than its valid bit."""
    return np.append(x[1:], x[-1:]).astype(int)


def dropped(x: np.ndarray) -> np.ndarray:
    """As if every second word were lost and the other handed over twice."""
    return np.repeat(x[::2], 2)[: len(x)].astype(int)


# With the rule that `prove` adds, an offered word stays: a stage offers a word in the next cycle if
# and only if one moves in or stays, and none moves in over one that stays. The lesson has the same.
STAGE = """
if ($past(in_valid && in_ready && !rst)) assert (out_valid && out_data == $past(in_data));
if (out_valid && !out_ready) assert (!in_ready);
if (!$past(in_valid && in_ready)) assert (!out_valid || $past(out_valid && !out_ready));
"""
# An empty stage is ready, whatever its neighbours do.
READY = "if (!rst && !out_valid) assert (in_ready);"
# A queue that has taken a word offers something.
KEPT = "if ($past(in_valid && in_ready && !rst)) assert (out_valid);\n"

stage = rtl_exercise(
    "fpga.register_stage",
    top="register_stage",
    solution=solutions.register_stage,
    drive=drive,
    cases=cases_of(WORDS, words),
    oracle=lambda x: x.astype(int),
    wrong={
        "never_empty": held,
        "one_late": lambda x: moved_on(x.astype(int), 1),
        "every_second": dropped,
        "unsigned": lambda x: np.abs(x.astype(int)),
        "sign_cut": lambda x: x.astype(int) & 127,
        "word_after": word_after,
    },
    outputs=("out",),
    proves=STAGE + READY,
    cycles=lambda x: len(x) + 1,
    gates={"ff": 12},
)


def first_sums(x: np.ndarray, numbers: int) -> np.ndarray:
    """The sum of the first numbers of each word alone."""
    return x[:, :numbers].astype(int).sum(axis=1)


tree = rtl_exercise(
    "fpga.pipelined_tree",
    top="pipelined_tree",
    solution=solutions.pipelined_tree,
    drive=drive,
    cases=cases_of(WORDS, eights),
    oracle=lambda x: x.astype(int).sum(axis=1),
    wrong={
        "one_late": lambda x: moved_on(x.astype(int).sum(axis=1), 1),
        "two_late": lambda x: moved_on(x.astype(int).sum(axis=1), 2),
        "half": lambda x: first_sums(x, 4),
        "subtracted": lambda x: 2 * first_sums(x, 4) - first_sums(x, 8),
        "seven": lambda x: first_sums(x, 7),
        "even_twice": lambda x: 2 * first_sums(x[:, ::2], 4),
        "odd_twice": lambda x: 2 * first_sums(x[:, 1::2], 4),
        "pair": lambda x: first_sums(x, 2),
        "second_half_twice": lambda x: 2 * (x.astype(int).sum(axis=1) - first_sums(x, 4)),
        "word_after": lambda x: word_after(x.astype(int).sum(axis=1)),
        "same_pair": lambda x: 4 * first_sums(x, 2),
        "first_half_twice": lambda x: 2 * first_sums(x, 4),
        "pairs_overlap": lambda x: x[:, :5].astype(int) @ [1, 2, 2, 2, 1],
        "fours_overlap": lambda x: x[:, :6].astype(int) @ [1, 1, 2, 2, 1, 1],
    },
    outputs=("out",),
    proves="",
    cycles=lambda x: len(x) + 3,
    keeps=1,
    early_ready=True,
    clock=0.8,
)


queue = rtl_exercise(
    "fpga.find_the_bug",
    top="queue",
    solution=solutions.queue,
    drive=drive,
    cases=cases_of(WORDS, words),
    oracle=lambda x: x.astype(int),
    wrong={
        "never_empty": held,
        "one_late": lambda x: moved_on(x.astype(int), 1),
        "every_second": dropped,
        "two_late": lambda x: moved_on(x.astype(int), 2),
    },
    outputs=("out",),
    proves=KEPT + READY,
    depth=10,  # enough to fill the four places and to empty them
    cycles=lambda x: len(x) + 1,
    given=QUEUE,
    keeps=2,  # several, as the lesson says; ours keeps three, and four are as right
)

EXERCISES = [stage, tree, queue]
