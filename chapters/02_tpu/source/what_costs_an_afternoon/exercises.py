"""The exercises of the lesson: how many programs a list of calls compiles, when a step begins."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_costs_an_afternoon.wrong import count_programs as wrong_count
from labkit_lessons.tpu.what_costs_an_afternoon.wrong import step_begins as wrong_begins

# tpu.count_programs: lengths, rates, whole, powers [n], bucket -> how many programs

CALLS = {  # how many calls, the longest array, the largest power, multiple to pad to
    "equal keys, prime": (37, 20, 3, 4),
    "equal keys, one call": (1, 9, 2, 5),
    "equal keys, two calls": (2, 2, 3, 3),
    "equal keys, not padded": (23, 7, 2, 1),
    "equal keys, ragged": (61, 50, 4, 7),
    "equal keys, wide buckets": (45, 90, 5, 32),
    "equal keys, many": (300, 64, 6, 8),
}


def calls(rng: np.random.Generator, n: int, longest: int, largest: int, bucket: int) -> tuple:
    """n calls: lengths, the values of the rates, which of them are whole numbers, and powers."""
    lengths = rng.integers(1, longest + 1, n)
    lengths[: n // 5] = bucket * rng.integers(1, 4, n // 5)  # these need no padding
    whole = rng.random(n) < 0.4
    rates = np.where(whole, rng.integers(-4, 5, n), rng.uniform(-1, 1, n))
    powers = rng.integers(1, largest + 1, n)
    return lengths, rates, whole, powers, bucket


def programs(lengths, rates, whole, powers, bucket):
    """How many different rows: padded length, type of the rate, power."""
    padded = np.ceil(lengths / bucket)
    keys = np.stack([padded, whole, powers], axis=1)
    return len(np.unique(keys, axis=0))


count_programs = exercise(
    "tpu.count_programs",
    oracle=programs,
    cases=cases_of(CALLS, calls),
    wrong=by_own_name(
        wrong_count.every_call,
        wrong_count.rates_by_value,
        wrong_count.type_forgotten,
        wrong_count.power_forgotten,
        wrong_count.not_padded,
        wrong_count.rounded_down,
        wrong_count.one_multiple_more,
        wrong_count.length_forgotten,
        wrong_count.last_call_only,
        wrong_count.kinds_added,
        wrong_count.kinds_multiplied,
        wrong_count.powers_first,
    ),
    outputs=("programs",),
    dtype="int",
    forbidden=LIBRARIES,
    general_causes=False,
)

# tpu.step_begins: prepare, compute [n], k -> begins [n]

QUEUES = {  # how many steps, k
    "prime": (7, 2),
    "one step": (1, 1),
    "room for one": (12, 1),
    "room for three": (23, 3),
    "more room than steps": (5, 9),
    "ragged": (33, 5),
    "many": (200, 4),
}


def steps(rng: np.random.Generator, n: int, k: int) -> tuple:
    """Times of n batches and n steps: most batches are quick, some are slow, so that queues run
    empty and full."""
    compute = rng.uniform(3, 6, n)
    prepare = rng.uniform(0.5, 4, n)
    slow = rng.random(n) < 0.2
    prepare[slow] += rng.uniform(6, 16, slow.sum())
    return prepare, compute, k


def begins(prepare, compute, k):
    """Batch i: after batch i-1 and the begin of step i-k. Step i: after it, and after step i-1."""
    ready = []
    found = []
    for i in range(len(prepare)):
        host = ready[i - 1] if i > 0 else 0
        room = found[i - k] if i >= k else 0
        ready.append(max(host, room) + prepare[i])
        device = found[i - 1] + compute[i - 1] if i > 0 else 0
        found.append(max(ready[i], device))
    return np.array(found)


step_begins = exercise(
    "tpu.step_begins",
    oracle=begins,
    cases=cases_of(QUEUES, steps),
    wrong=by_own_name(
        wrong_begins.no_queue,
        wrong_begins.endless_queue,
        wrong_begins.room_at_the_end,
        wrong_begins.room_for_one_more,
        wrong_begins.room_for_one_fewer,
        wrong_begins.device_never_busy,
        wrong_begins.many_hosts,
        wrong_begins.ends,
        wrong_begins.batches_ready,
        wrong_begins.exchanged,
        wrong_begins.waits,
        wrong_begins.always_room_for_one,
        wrong_begins.filled_first,
    ),
    outputs=("begins",),
    forbidden=LIBRARIES,
)

EXERCISES = [count_programs, step_begins]
