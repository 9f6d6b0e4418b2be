"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

KEPT = {}  # what answers keep from call to call

# --- tpu.count_programs

count = partial(edit, "tpu.count_programs")
ROW = "(padded[i], whole[i], powers[i])"
PADDED = "np.ceil(lengths / bucket)"
count_all = count("count_all", "len(keys)", "len(lengths)")
count_values = count("count_values", ROW, "(padded[i], rates[i], powers[i])")
count_without_type = count("count_without_type", ROW, "(padded[i], powers[i])")
count_without_power = count("count_without_power", ROW, "(padded[i], whole[i])")
count_raw_lengths = count("count_raw_lengths", ROW, "(lengths[i], whole[i], powers[i])")
count_floor = count("count_floor", PADDED, "np.floor(lengths / bucket)")
count_rounded = count("count_rounded", PADDED, "np.round(lengths / bucket)")
count_without_length = count("count_without_length", ROW, "(whole[i], powers[i])")


def count_changes(lengths, rates, whole, powers, bucket):
    compiled, last = 0, None
    for length, is_whole, power in zip(lengths, whole, powers, strict=True):
        key = (int(np.ceil(length / bucket)), bool(is_whole), int(power))
        compiled += key != last
        last = key
    return compiled


def count_product(lengths, rates, whole, powers, bucket):
    sizes = {int(np.ceil(length / bucket)) for length in lengths}
    return len(sizes) * len(set(whole.tolist())) * len(set(powers.tolist()))


def count_sum(lengths, rates, whole, powers, bucket):
    sizes = {int(np.ceil(length / bucket)) for length in lengths}
    return len(sizes) + len(set(whole.tolist())) + len(set(powers.tolist()))


def count_powers_of_two(lengths, rates, whole, powers, bucket):
    sizes = [(int(length) - 1).bit_length() for length in lengths]
    return len({*zip(sizes, whole.tolist(), powers.tolist(), strict=True)})


def count_by_unique(lengths, rates, whole, powers, bucket):
    padded = (lengths + bucket - 1) // bucket
    return np.int64(len(np.unique(np.stack([padded, whole, powers]), axis=1).T))


def count_kept(lengths, rates, whole, powers, bucket):
    key = len(lengths), bucket
    return KEPT.setdefault(key, count_by_unique(lengths, rates, whole, powers, bucket))


def count_as_a_float(lengths, rates, whole, powers, bucket):
    return float(count_by_unique(lengths, rates, whole, powers, bucket))


def count_in_place(lengths, rates, whole, powers, bucket):
    lengths += bucket - 1
    lengths //= bucket
    return len({*zip(lengths.tolist(), whole.tolist(), powers.tolist(), strict=True)})


def count_by_torch(lengths, rates, whole, powers, bucket):
    import torch

    padded = torch.tensor((lengths + bucket - 1) // bucket)
    rows = torch.stack([padded, torch.tensor(whole).long(), torch.tensor(powers)], dim=1)
    return len(torch.unique(rows, dim=0))


# --- tpu.step_begins

begin = partial(edit, "tpu.step_begins")
ROOM = "begins[i - k]"
FREE = "free = begins[i] + compute[i]"
RETURN = "return np.array(begins)"
begins_of_endless_queue = begin("begins_of_endless_queue", ROOM, "0")
begins_after_the_end = begin("begins_after_the_end", ROOM, "begins[i - k] + compute[i - k]")
begins_of_one_more = begin(
    "begins_of_one_more", "if i >= k:", "if i > k:", (ROOM, "begins[i - k - 1]")
)
begins_of_one = begin("begins_of_one", "if i >= k:", "if i >= 1:", (ROOM, "begins[i - 1]"))
begins_of_free_device = begin("begins_of_free_device", FREE, "free = 0")
begins_of_many_hosts = begin(
    "begins_of_many_hosts", "start = ready", "start = 0", ("max(ready, begins[i - k])", ROOM)
)
begins_as_ends = begin("begins_as_ends", RETURN, "return np.array(begins) + compute")
begins_in_whole_numbers = begin(
    "begins_in_whole_numbers", RETURN, "return np.array(begins).astype(int)"
)
begins_rounded = begin("begins_rounded", RETURN, "return np.round(begins, 1)")


def begins_one_by_one(prepare, compute, k):
    return np.cumsum(prepare + compute) - compute


def begins_backwards(prepare, compute, k):
    return begins_of_a_list(compute, prepare, k)


def begins_of_a_list(prepare, compute, k):
    begins, host, device = [], 0.0, 0.0
    for i, (batch, step) in enumerate(zip(prepare.tolist(), compute.tolist(), strict=True)):
        host = max([host, *begins[i - k : i - k + 1]] if i >= k else [host]) + batch
        begins.append(max(host, device))
        device = begins[-1] + step
    return np.array(begins)


def begins_in_float32(prepare, compute, k):
    return begins_of_a_list(prepare, compute, k).astype(np.float32)


def begins_kept(prepare, compute, k):
    return KEPT.setdefault((len(prepare), k), begins_of_a_list(prepare, compute, k)).copy()


def begins_in_place(prepare, compute, k):
    prepare[:] = begins_of_a_list(prepare, compute, k)
    return prepare


def begins_by_torch(prepare, compute, k):
    import torch

    return torch.tensor(begins_of_a_list(prepare, compute, k)).numpy()


PLANTED = {
    "tpu.count_programs": [
        (count_all, "Every call is counted"),
        (count_values, "The value of a rate"),
        (count_without_type, "A whole number and a float"),
        (count_without_power, "A static argument"),
        (count_raw_lengths, "before they are padded"),
        (count_floor, "rounded down to a multiple"),
        (count_rounded, "the nearest multiple"),
        (count_without_length, "The lengths do not count"),
        (count_changes, "Only the program of the call before"),
        (count_product, "every combination"),
        (count_sum, "are added up"),
        (count_powers_of_two, "powers of two"),
        (count_kept, "something is kept from one call"),
        (count_as_a_float, "programs holds floating-point numbers"),
        (count_in_place, "changes its input"),
        (count_by_torch, "torch"),
    ],
    "tpu.step_begins": [
        (begins_one_by_one, "Nothing overlaps"),
        (begins_of_endless_queue, "The queue has no end"),
        (begins_after_the_end, "A place becomes free when a step begins"),
        (begins_of_one_more, "one batch too many"),
        (begins_of_one, "The queue has room for one batch only"),
        (begins_of_free_device, "The device may still compute"),
        (begins_of_many_hosts, "one batch at a time"),
        (begins_as_ends, "when the steps end"),
        (begins_in_whole_numbers, "cut off"),
        (begins_rounded, "rounded to 1 digit"),
        (begins_backwards, "are exchanged"),
        (begins_kept, "something is kept from one call"),
        (begins_in_place, "changes its input"),
        (begins_by_torch, "torch"),
    ],
}

ONE = np.array([4]), np.array([0.5]), np.array([False]), np.array([2]), 2
EVEN = np.full(4, 2.0), np.full(4, 3.0), 2
RIGHT_ON = {  # where what they confuse is one and the same
    count_sum: (np.array([], int), np.array([]), np.array([], bool), np.array([], int), 2),
    count_kept: (np.arange(1, 12), np.ones(11), np.ones(11, bool), np.ones(11, int), 3),
    begins_kept: (np.full(17, 2.0), np.full(17, 3.0), 2),
    begins_as_ends: (np.full(4, 2.0), np.zeros(4), 2),
    begins_in_whole_numbers: EVEN,
    begins_rounded: EVEN,
    begins_backwards: (np.full(4, 2.0), np.full(4, 2.0), 2),
}

ALSO_RIGHT = {
    "tpu.count_programs": [count_by_unique],
    "tpu.step_begins": [begins_of_a_list, begins_in_float32],
}
