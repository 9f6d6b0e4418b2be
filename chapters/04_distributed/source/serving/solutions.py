"""The solutions of lesson 04_distributed/15_serving. Written by `labkit build` from

chapters/04_distributed/source/serving/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import math


def latency_percentile(arrivals, finishes, percent):
    """when n requests arrived, and had their last token, s [n]; percent, from 1 to 100 -> s"""
    latencies = sorted(finishes - arrivals)
    number = math.ceil(percent * len(latencies) / 100)  # counted from 1
    return latencies[number - 1]


def token_slots(table, free, cached, new, size):
    """blocks of the request; free ones; tokens before, and new; slots in a block -> table, slots"""
    table, free, slots = list(table), list(free), []
    for token in range(cached, cached + new):
        if token % size == 0:
            table.append(free.pop(0))
        slots.append(table[-1] * size + token % size)
    return table, slots


def who_joins(waiting, rows, blocks, size):
    """tokens of each that waits, oldest first; free rows and blocks; slots in a block -> number"""
    joining = 0
    for tokens in waiting:
        need = math.ceil(tokens / size)
        if joining == rows or need > blocks:
            break
        joining += 1
        blocks -= need
    return joining


SOLUTIONS = {
    "distributed.latency_percentile": latency_percentile,
    "distributed.token_slots": token_slots,
    "distributed.who_joins": who_joins,
}
