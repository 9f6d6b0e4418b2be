"""The solutions of lesson 04_distributed/17_choosing_hardware. Written by `labkit build` from

chapters/04_distributed/source/choosing_hardware/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def machines_needed(weights, size, tokens, token_cache, memory, most):
    """weights of `size` B; tokens of each request [N], of `token_cache` B; B; machines -> machines"""
    count = 1
    while count <= most:
        needed = weights * size + tokens.sum() * token_cache
        if needed <= count * memory:
            return count
        count *= 2
    return 0


def step_parts(flops, moved, reduces, reduced, n, peak, bandwidth, latency, link):
    """FLOP; B; all-reduces, of so many B; machines [N]; FLOP/s; B/s; s; B/s -> seconds [4,N]"""
    compute = flops / (n * peak)
    reading = moved / (n * bandwidth)
    links = reduces * 2 * (n - 1) * (latency + reduced / (n * link))
    return np.array([compute, reading, links, np.maximum(compute, reading) + links])


def cheapest(counts, seconds, prices, limit):
    """machines [N]; seconds of a step [N]; USD/h of one machine [N]; seconds -> place"""
    costs = counts * seconds * prices
    costs[np.isnan(prices) | (seconds > limit)] = np.inf
    if np.isinf(costs).all():
        return -1
    return int(np.argmin(costs))


SOLUTIONS = {
    "distributed.machines_needed": machines_needed,
    "distributed.step_parts": step_parts,
    "distributed.cheapest": cheapest,
}
