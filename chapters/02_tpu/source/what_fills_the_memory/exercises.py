"""The exercises of the lesson: what lies in memory at once, with donation and with blocks."""

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit_lessons.tpu.what_fills_the_memory.wrong import kept_bytes as wrong_kept
from labkit_lessons.tpu.what_fills_the_memory.wrong import peak_bytes as wrong_peak

FORBIDDEN = (*LIBRARIES, "labkit.tpu")

# tpu.peak_bytes: arguments [n], results [m], donated [n] of bool, temporary -> bytes

PROGRAMS = {  # arguments, results that are as large as an argument, other results
    "equal sizes, prime": (7, 3, 2),
    "one of each": (1, 1, 0),
    "equal sizes, no results like arguments": (3, 0, 4),
    "equal sizes, more results than arguments": (2, 5, 1),
    "equal sizes, ragged": (13, 6, 3),
    "equal sizes, many": (40, 30, 9),
}


def program(rng: np.random.Generator, n: int, same: int, others: int) -> tuple:
    """A program's arrays in bytes: some arguments are as large as each other, about half donated.

    Some result is smaller than a donated argument, and the place of another is wanted twice.
    """
    sizes = rng.permutation(np.arange(3, 3 + max(2, n // 2)))
    arguments = 4096 * rng.choice(sizes, n)
    donated = rng.random(n) < 0.5
    donated[0] = True
    wanted = rng.choice(arguments, same)
    wanted[:2] = arguments[0]
    smaller = 512 * rng.integers(1, 20, others)
    results = rng.permutation(np.concatenate([wanted, smaller]))
    temporary = int(rng.integers(1, 99_999))
    return arguments, results, donated, temporary


def peak(arguments, results, donated, temporary):
    """Of each size, as many results take a place as arguments of this size are donated."""
    shared = 0
    for size in np.unique(results):
        places = np.sum(donated & (arguments == size))
        shared += size * min(places, np.sum(results == size))
    return int(arguments.sum() + results.sum() - shared + temporary)


peak_bytes = exercise(
    "tpu.peak_bytes",
    oracle=peak,
    cases=cases_of(PROGRAMS, program),
    wrong=by_own_name(
        wrong_peak.never_shared,
        wrong_peak.all_donated,
        wrong_peak.donated_is_free,
        wrong_peak.place_for_many,
        wrong_peak.smaller_fits,
        wrong_peak.results_forgotten,
        wrong_peak.arguments_forgotten,
        wrong_peak.temporary_forgotten,
        wrong_peak.turned_round,
        wrong_peak.larger_of_both,
        wrong_peak.whole_kib,
    ),
    outputs=("peak",),
    dtype="int",
    forbidden=FORBIDDEN,
)

# tpu.kept_bytes: outputs [n], block -> bytes

NETWORKS = {  # layers, layers of a block, where the largest outputs are
    "prime": (7, 3, "first"),
    "one layer": (1, 1, "last"),
    "blocks of one": (5, 1, "middle"),
    "one block": (6, 6, "middle"),
    "equal blocks": (12, 4, "first"),
    "largest in the middle": (15, 5, "middle"),
    "largest at the end": (11, 2, "last"),
    "ragged": (32, 5, "first"),
    "many": (101, 10, "middle"),
}


def network(rng: np.random.Generator, layers: int, block: int, largest: str) -> tuple:
    """Bytes of the layers' outputs, which all differ; some layers' are many times as large."""
    outputs = 256 * (100 + rng.permutation(10 * layers)[:layers])
    place = {"first": 0.0, "middle": 0.5, "last": 1.0}[largest]
    peak_layer = int(place * (layers - 1))
    near = np.abs(np.arange(layers) - peak_layer) < max(1, block // 2 + 1)
    outputs[near] *= 7
    return outputs + np.arange(layers), block


def kept(outputs, block):
    """The worst of the blocks: its own outputs, and the last ones of the blocks before."""
    most = 0
    before = 0
    for start in range(0, len(outputs), block):
        own = outputs[start : start + block]
        most = max(most, before + own.sum())
        before += own[-1]
    return int(most)


kept_bytes = exercise(
    "tpu.kept_bytes",
    oracle=kept,
    cases=cases_of(NETWORKS, network),
    wrong=by_own_name(
        wrong_kept.all_outputs,
        wrong_kept.last_block,
        wrong_kept.largest_block_alone,
        wrong_kept.ends_alone,
        wrong_kept.all_ends_and_largest_block,
        wrong_kept.first_ones_kept,
        wrong_kept.so_many_blocks,
        wrong_kept.short_block_dropped,
        wrong_kept.short_block_first,
        wrong_kept.summed_over_blocks,
        wrong_kept.whole_kib,
    ),
    outputs=("kept",),
    dtype="int",
    forbidden=FORBIDDEN,
)

EXERCISES = [peak_bytes, kept_bytes]
