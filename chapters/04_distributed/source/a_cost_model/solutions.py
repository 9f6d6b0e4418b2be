"""The solutions of lesson 04_distributed/16_a_cost_model. Written by `labkit build` from

chapters/04_distributed/source/a_cost_model/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def fit_link(sizes, seconds):
    """bytes [P]; seconds [P] of one message, half a ping -> latency in s, bandwidth in B/s"""
    rows = np.stack([1 / seconds, sizes / seconds], axis=1)
    latency, per_byte = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    bandwidth = 1 / per_byte
    return latency, bandwidth


def rank_correlation(a, b):
    """two lists of n numbers -> pairs in the same order less pairs in the other, of all pairs"""
    order, pairs = 0, 0
    for i in range(len(a)):
        for j in range(i):
            pairs += 1
            order += np.sign((a[i] - a[j]) * (b[i] - b[j]))
    return order / max(pairs, 1)


SOLUTIONS = {
    "distributed.fit_link": fit_link,
    "distributed.rank_correlation": rank_correlation,
}
