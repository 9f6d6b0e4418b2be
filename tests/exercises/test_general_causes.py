"""Causes that every exercise has, on the cases of real ones, whatever their own wrong ideas are.

Each slip is made in two rooms, and nothing else is cause_of where it was made.
"""

import numpy as np
import pytest

from labkit.checks.diagnosis.causes import likely_cause
from labkit.checks.diagnosis.trials import Trial
from labkit.checks.equality import equal
from labkit.checks.expected import outputs_for
from labkit.checks.judge import seeded_cases
from tests.exercises.answers import EXERCISES

LIMIT = "a limit is missing"
LENGTH = "whose length does the guard"
CONSTANT = "does not count: the result is that of"
ONE = "it returns one number"
BITS = "is cut to"
RATE = "multiplies where it should divide"


def behind(length):
    """Nothing is written from the length of another array on."""

    def learner(oracle, *args):
        result = np.array(oracle(*args))
        result[length(*args) :] = 0
        return result

    return learner


def only_one(of):
    return lambda oracle, *args: of(oracle(*args))


def in_all_places(of):
    """One number for all, in each of the outputs."""

    def learner(oracle, *args):
        results = oracle(*args)
        if isinstance(results, tuple):
            return tuple(np.full_like(result, of(result)) for result in results)
        return np.full_like(results, of(results))

    return learner


def cut(kind):
    return lambda oracle, *args: np.asarray(oracle(*args)).astype(kind).astype(np.int64)


def unlimited(oracle, x, amount, packet):
    """Pixels above 255, with the right ends of packets."""
    return x.astype(int) + amount, oracle(x, amount, packet)[1]


def stays(value):
    """Only the rank's first chunk is there; in the others stands this, of its own numbers."""

    def learner(oracle, by_rank):
        results = oracle(by_rank)
        found = []
        for rank, right in enumerate(results):
            first = right.copy().ravel()
            if rank < len(by_rank):
                begin = np.array_split(first, len(by_rank))[0].size
                first[begin:] = value(by_rank[rank][0].ravel())[begin:]
            found.append(first.reshape(right.shape))
        return tuple(found)

    return learner


def in_one_place(oracle, by_rank):
    """What belongs into chunk 0 is overwritten by chunk 1, whose own place stays 0."""
    found = []
    for right in oracle(by_rank):
        chunks = np.array_split(right.copy().ravel(), len(by_rank))
        if len(chunks) > 1 and len(chunks[1]):
            chunks[0][: len(chunks[1])] = chunks[1]
            chunks[1][:] = 0
        found.append(np.concatenate(chunks).reshape(right.shape))
    return tuple(found)


def without_the_last_rank(oracle, by_rank):
    *others, (x,) = by_rank
    return oracle((*others, (0 * x,)))


def with_a_part_of_p(oracle, p, *others):
    """As a decay of the weights makes it."""
    new_p, v = oracle(p, *others)
    return new_p, v + np.float32(0.001) * p


def in_float32(oracle, *args):
    return tuple(one.astype(float) for one in oracle(*(a.astype(np.float32) for a in args)))


SLIPS = [
    ("gpu.relu_kernel", lambda oracle, x: x.copy(), LIMIT),
    ("fpga.brighten", unlimited, LIMIT),
    ("gpu.scale_rows", behind(lambda a, scale, shift: a.shape[1]), LENGTH),
    ("tpu.multiply_accumulate", behind(lambda a, b, narrow: len(b)), LENGTH),
    ("fpga.queue_depth", lambda oracle, arrivals, work: oracle(arrivals, 3), CONSTANT),
    ("fpga.brighten", lambda oracle, x, amount, packet: oracle(x, amount, 5), CONSTANT),
    ("tpu.mxu_utilization", lambda oracle, *args: oracle(*args[:-1], 128), CONSTANT),
    ("tpu.cycles", only_one(np.sum), ONE),
    ("distributed.step_flops", only_one(np.max), ONE),
    ("tpu.cycles", cut(np.int8), BITS),
    ("distributed.step_flops", cut(np.uint16), BITS),
    ("distributed.step_flops", lambda oracle, past, n, *more: oracle(past, 1 / n, *more), RATE),
    ("gpu.lowest_limit", lambda oracle, *args: np.floor(oracle(*args)), "cut off what lies"),
    ("gpu.blocks_that_fit", in_all_places(np.min), "the same number, the smallest of those"),
    ("tpu.mxu_utilization", in_all_places(np.median), "the same number: each"),
    ("gpu.sgd_momentum", lambda oracle, p, g, v, lr, m: oracle(p, g, v, 1 / lr, m), RATE),
]
SLIPS += [  # what is tried behind the common slips
    ("gpu.scale_rows", lambda oracle, a, scale, shift: oracle(a, scale + 1, shift), "has 1 added"),
    ("gpu.lowest_limit", lambda oracle, i, p, a, r: oracle(i, p, p, r), "`passes` stands where"),
    ("tpu.throughput", lambda oracle, *args: oracle(*args[:-1], 0.94e9), CONSTANT),
    ("gpu.lowest_limit", lambda oracle, *args: np.round(oracle(*args), 2), "rounded to 2 digits"),
    ("gpu.bias_relu_pool", lambda oracle, *args: np.minimum(oracle(*args), 6), "goes above 6"),
    ("gpu.sgd_momentum", with_a_part_of_p, "too much, or too little, of `p`"),
    ("gpu.scale_rows", behind(lambda a, scale, shift: 96), "the first 96 places"),
    ("gpu.linear_backward", in_float32, "float32's"),
    ("tpu.global_loss", lambda oracle, *args: oracle(*args) + 0.001, "too large by 0.001"),
]
TWICE = "written to the same place"
OWN, ZERO, RANK = "own numbers still stand", "still 0: nothing came", "the last rank gives does not"
for id in ("distributed.ring_all_reduce", "distributed.gather_all_reduce"):
    SLIPS += [
        (id, stays(lambda own: own), OWN),
        (id, stays(np.zeros_like), ZERO),
        (id, without_the_last_rank, RANK),
        (id, in_one_place, TWICE),
    ]


def cause_of(id, slip):
    """The likely cause of an answer's first wrong output, or None."""
    exercise = EXERCISES[id]
    trials = []
    for case in seeded_cases(exercise):
        expected = outputs_for(exercise, exercise.oracle, case.args)
        got = outputs_for(exercise, lambda *args: slip(exercise.oracle, *args), case.args)
        trials.append(Trial(case, list(got), expected, None))
    for output in range(len(exercise.outputs)):
        if not all(equal(one.got[output], one.expected[output], exercise) for one in trials):
            return likely_cause(exercise, trials, output)
    raise AssertionError("the slip changes nothing")


@pytest.mark.parametrize(("id", "slip", "says"), SLIPS, ids=[f"{s[0]}-{s[2]}" for s in SLIPS])
def test_a_slip_is_named_on_the_cases_of_a_real_exercise(id, slip, says):
    assert says in (cause_of(id, slip) or "")
