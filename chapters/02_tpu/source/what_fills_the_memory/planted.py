"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

KEPT = {}  # what answers keep from call to call

# --- tpu.peak_bytes

peak = partial(edit, "tpu.peak_bytes")
SUM = "arguments.sum() + results.sum() - shared + temporary"
peak_unshared = peak("peak_unshared", SUM, "arguments.sum() + results.sum() + temporary")
peak_all = peak("peak_all", "arguments[donated]", "arguments")
peak_of_the_others = peak("peak_of_the_others", "arguments[donated]", "arguments[~donated]")
peak_reused = peak("peak_reused", "places.remove(size)", "pass")
peak_without_results = peak("peak_without_results", SUM, "arguments.sum() + temporary")
peak_without_arguments = peak("peak_without_arguments", SUM, "results.sum() + temporary")
peak_without_temporary = peak(
    "peak_without_temporary", SUM, "arguments.sum() + results.sum() - shared"
)
peak_of_the_larger = peak(
    "peak_of_the_larger", SUM, "max(arguments.sum(), results.sum()) + temporary"
)
peak_in_kib = peak("peak_in_kib", f"int({SUM})", f"int({SUM}) // 1024 * 1024")


def peak_given_away(arguments, results, donated, temporary):
    return int(arguments[~donated].sum() + results.sum() + temporary)


def peak_in_larger_places(arguments, results, donated, temporary):
    places = sorted(arguments[donated].tolist())
    new = 0
    for size in sorted(results.tolist(), reverse=True):
        place = next((one for one in places if one >= size), None)
        if place is None:
            new += size
        else:
            places.remove(place)
    return int(arguments.sum()) + new + temporary


def peak_by_counting(arguments, results, donated, temporary):
    total = arguments.sum() + temporary
    for size in set(results.tolist()):
        places = int((arguments[donated] == size).sum())
        total += size * max(0, int((results == size).sum()) - places)
    return total


def peak_as_a_float(arguments, results, donated, temporary):
    return float(peak_by_counting(arguments, results, donated, temporary))


def peak_kept(arguments, results, donated, temporary):
    key = len(arguments), len(results)
    return KEPT.setdefault(key, peak_by_counting(arguments, results, donated, temporary))


def peak_in_place(arguments, results, donated, temporary):
    total = peak_by_counting(arguments, results, donated, temporary)
    arguments[donated] = 0
    return total


def peak_by_torch(arguments, results, donated, temporary):
    import torch

    return peak_by_counting(arguments, results, donated, temporary) + int(torch.zeros(1).sum())


# --- tpu.kept_bytes

kept = partial(edit, "tpu.kept_bytes")
kept_last = kept("kept_last", "max(most, ends + own.sum())", "ends + own.sum()")
kept_alone = kept("kept_alone", "ends + own.sum()", "own.sum()")
kept_firsts = kept("kept_firsts", "own[-1]", "own[0]")
kept_added = kept("kept_added", "max(most, ends + own.sum())", "most + ends + own.sum()")
kept_in_kib = kept("kept_in_kib", "int(most)", "int(most) // 1024 * 1024")


def kept_everything(outputs, block):
    return int(outputs.sum())


def kept_ends(outputs, block):
    ends = outputs[block - 1 :: block].tolist()
    if len(outputs) % block:
        ends.append(int(outputs[-1]))
    return int(sum(ends))


def kept_ends_and_a_block(outputs, block):
    starts = range(0, len(outputs), block)
    return kept_ends(outputs, block) + int(max(outputs[s : s + block].sum() for s in starts))


def kept_in_so_many(outputs, block):
    ends, most = 0, 0
    for own in np.array_split(outputs, block):
        if len(own):
            most = max(most, ends + own.sum())
            ends += own[-1]
    return int(most)


def kept_of_whole_blocks(outputs, block):
    return kept_from_prefix(outputs[: len(outputs) // block * block], block)


def kept_from_prefix(outputs, block):
    done = np.concatenate([[0], np.cumsum(outputs)])
    ends, found = 0, [0]
    for start in range(0, len(outputs), block):
        stop = min(start + block, len(outputs))
        found.append(ends + done[stop] - done[start])
        ends += outputs[stop - 1]
    return np.max(found)


def kept_as_a_float(outputs, block):
    return float(kept_from_prefix(outputs, block))


def kept_from_before(outputs, block):
    return KEPT.setdefault((len(outputs), block), kept_from_prefix(outputs, block))


def kept_in_place(outputs, block):
    most = kept_from_prefix(outputs, block)
    outputs[0] = 0
    return most


def kept_by_torch(outputs, block):
    import torch

    return int(torch.tensor(int(kept_from_prefix(outputs, block))))


PLANTED = {
    "tpu.peak_bytes": [
        (peak_unshared, "Nothing is shared here"),
        (peak_all, "Arguments that are not donated"),
        (peak_of_the_others, "Here those arguments give"),
        (peak_reused, "Several results take the place"),
        (peak_without_results, "The results are missing"),
        (peak_without_arguments, "The arguments are missing"),
        (peak_without_temporary, "The temporary arrays are missing"),
        (peak_of_the_larger, "not the larger of them"),
        (peak_in_kib, "rounded down to whole KiB"),
        (peak_given_away, "take no memory here"),
        (peak_in_larger_places, "the place of a larger argument"),
        (peak_as_a_float, "floating-point number"),
        (peak_kept, "something is kept from one call"),
        (peak_in_place, "changes its input"),
        (peak_by_torch, "torch"),
    ],
    "tpu.kept_bytes": [
        (kept_last, "Only the moment of the last block"),
        (kept_alone, "The last outputs of the blocks before are missing"),
        (kept_firsts, "The first output of each block"),
        (kept_added, "The blocks are added up"),
        (kept_in_kib, "rounded down to whole KiB"),
        (kept_everything, "All outputs are kept here"),
        (kept_ends, "Only the ends of the blocks"),
        (kept_ends_and_a_block, "The ends of all blocks are added"),
        (kept_in_so_many, "not how many blocks there are"),
        (kept_of_whole_blocks, "that fill no block"),
        (kept_as_a_float, "floating-point number"),
        (kept_from_before, "something is kept from one call"),
        (kept_in_place, "changes its input"),
        (kept_by_torch, "torch"),
    ],
}

NOTHING = np.array([4096]), np.array([512]), np.array([False]), 0
RIGHT_ON = {  # where what they confuse is one and the same
    peak_unshared: NOTHING,
    peak_all: (np.array([4096]), np.array([4096]), np.array([True]), 0),
    peak_of_the_others: NOTHING,
    peak_reused: NOTHING,
    peak_without_results: (np.array([4096]), np.array([4096]), np.array([True]), 0),
    peak_without_arguments: (np.array([4096]), np.array([4096]), np.array([True]), 7),
    peak_without_temporary: NOTHING,
    peak_of_the_larger: (np.array([4096]), np.array([4096]), np.array([True]), 7),
    peak_in_kib: (np.array([0]), np.array([0]), np.array([False]), 0),
    peak_given_away: NOTHING,
    peak_in_larger_places: NOTHING,
    peak_kept: (np.full(9, 4096), np.full(2, 512), np.zeros(9, bool), 3),
    kept_ends_and_a_block: (np.array([5, 0]), 2),
    kept_in_kib: (np.array([2048]), 1),
    kept_from_before: (np.arange(1, 10), 2),
}

ALSO_RIGHT = {
    "tpu.peak_bytes": [peak_by_counting],
    "tpu.kept_bytes": [kept_from_prefix],
}
