"""Another way to serve: a clock that ticks once a unit, and one dictionary for each thing.

Written without labkit's code: times are whole numbers, every step takes one tick, and the whole
state is looked at anew in each tick. Slow, and so plain that it can be read beside the rules.
"""

import math


def continuous(requests, rows, blocks=None, size=1):
    """Requests (arrival, prompt, output) with whole arrivals -> tick of each token, preemptions."""
    times = {i: [] for i in range(len(requests))}
    in_cache = {}  # request -> tokens in the cache; who is here runs
    preemptions = {i: 0 for i in range(len(requests))}

    def used(extra=None):
        sizes = dict(in_cache)
        if extra is not None:
            sizes.update(extra)
        return sum(math.ceil(tokens / size) for tokens in sizes.values())

    tick = 0
    while any(len(times[i]) < requests[i][2] for i in times):
        grown = {}
        threw_out = False
        for i in sorted(in_cache):
            if i not in in_cache:
                continue
            while (
                i in in_cache and blocks is not None and used(grown | {i: in_cache[i] + 1}) > blocks
            ):
                last = max(in_cache)
                del in_cache[last]
                grown.pop(last, None)
                preemptions[last] += 1
                threw_out = True
            if i in in_cache:
                grown[i] = in_cache[i] + 1
        in_cache.update(grown)
        if not threw_out:
            for i in range(len(requests)):
                arrival, prompt, output = requests[i]
                if i in in_cache or arrival > tick or len(times[i]) == output:
                    continue
                tokens = prompt + len(times[i])
                if len(in_cache) == rows:
                    break
                if blocks is not None and used({i: tokens}) > blocks:
                    break
                in_cache[i] = tokens
        tick += 1
        for i in sorted(in_cache):
            times[i].append(tick)
            if len(times[i]) == requests[i][2]:
                del in_cache[i]
    return [times[i] for i in times], [preemptions[i] for i in times]


def static(requests, rows):
    """The same with fixed batches -> tick of each token, and tokens that nobody asked for."""
    times = [[] for _ in requests]
    wasted = 0
    tick = 0
    first = 0
    while first < len(requests):
        tick = max(tick, requests[first][0])
        batch = [i for i in range(first, len(requests)) if requests[i][0] <= tick][:rows]
        longest = max(requests[i][2] for i in batch)
        for i in batch:
            for number in range(longest):
                if number < requests[i][2]:
                    times[i].append(tick + number + 1)
                else:
                    wasted += 1
        tick += longest
        first = batch[-1] + 1
    return times, wasted


def admitted_by_search(waiting, rows, blocks, size):
    """The longest beginning of `waiting` that fits."""
    best = 0
    for count in range(min(len(waiting), rows) + 1):
        if sum(math.ceil(tokens / size) for tokens in waiting[:count]) <= blocks:
            best = count
    return best
