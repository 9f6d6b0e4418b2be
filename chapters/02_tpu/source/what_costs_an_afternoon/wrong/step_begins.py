"""Wrong ideas of tpu.step_begins: prepare, compute [n], k -> begins [n].

Dense: each takes all arguments of the right one, and is a formula, to be held against it.
"""

import numpy as np


def run(prepare, compute, room=None, host=True, device=True):
    """Ready and begin of each step; `room(begins, i)` is when batch i finds a place."""
    ready = []
    begins = []
    for i in range(len(prepare)):
        start = ready[i - 1] if host and i > 0 else 0
        if room is not None:
            start = max(start, room(begins, i))
        ready.append(start + prepare[i])
        free = begins[i - 1] + compute[i - 1] if device and i > 0 else 0
        begins.append(max(ready[i], free))
    return np.array(ready), np.array(begins)


def room_of(k):
    """A place is free when step i-k begins."""
    return lambda begins, i: begins[i - k] if i >= k else 0


def no_queue(prepare, compute, k):
    """The host prepares when the device is idle."""
    before = np.concatenate([[0], np.cumsum(prepare + compute)[:-1]])
    return before + prepare


def endless_queue(prepare, compute, k):
    """The queue has room for all batches."""
    return run(prepare, compute)[1]


def room_at_the_end(prepare, compute, k):
    """A place is free when step i-k has ended."""

    def room(begins, i):
        return begins[i - k] + compute[i - k] if i >= k else 0

    return run(prepare, compute, room)[1]


def room_for_one_more(prepare, compute, k):
    """k + 1 places."""
    return run(prepare, compute, room_of(k + 1))[1]


def room_for_one_fewer(prepare, compute, k):
    """k - 1 places; with none, the host waits for the step's end."""
    if k == 1:
        return no_queue(prepare, compute, k)
    return run(prepare, compute, room_of(k - 1))[1]


def always_room_for_one(prepare, compute, k):
    """k does not count."""
    return run(prepare, compute, room_of(1))[1]


def device_never_busy(prepare, compute, k):
    """A step begins when its batch is ready."""
    return run(prepare, compute, room_of(k), device=False)[1]


def many_hosts(prepare, compute, k):
    """k batches are prepared at a time."""
    return run(prepare, compute, room_of(k), host=False)[1]


def ends(prepare, compute, k):
    """When each step ends."""
    return run(prepare, compute, room_of(k))[1] + compute


def batches_ready(prepare, compute, k):
    """When each batch is ready."""
    return run(prepare, compute, room_of(k))[0]


def exchanged(prepare, compute, k):
    """The device prepares, and the host computes."""
    return run(compute, prepare, room_of(k))[1]


def waits(prepare, compute, k):
    """How long each step waits for its batch."""
    begins = run(prepare, compute, room_of(k))[1]
    free = np.concatenate([[0], begins[:-1] + compute[:-1]])
    return begins - free


def filled_first(prepare, compute, k):
    """Step 0 waits until the queue is full."""
    first = prepare.copy()
    full = min(k, len(prepare))
    first[0] = prepare[:full].sum()
    first[1:full] = 0
    return run(first, compute, room_of(k))[1]
