"""The solutions of lesson 04_distributed/8_unlike_machines. Written by `labkit build` from

chapters/04_distributed/source/unlike_machines/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np
import torch

from labkit.distributed import ring_all_reduce
from labkit_lessons.distributed.unlike_machines.splits import groups_of


def split_batch(speeds, batch):
    """array speeds [N], and photographs in all -> array of whole numbers: photographs [N]"""
    shares = batch * speeds / speeds.sum()
    counts = np.floor(shares).astype(int)
    left = batch - counts.sum()
    order = np.argsort(counts - shares, kind="stable")
    counts[order[:left]] += 1
    return counts


def gradient_and_speeds(rank, ranks, gradient, count, seconds, batch):
    """mean gradient [D] over this rank's `count` -> that over the batch [D], all speeds [ranks]"""
    speeds = torch.zeros(ranks)
    speeds[rank] = count / seconds
    total = ring_all_reduce(torch.cat([gradient * count / batch, speeds]))
    return total[:-ranks], total[-ranks:]


def best_group(per_photo, fixed, messages, batch):
    """seconds for a photo [N], fixed [N], of an all-reduce among 1 to N [N] -> best places"""
    best, shortest = None, np.inf
    for group in groups_of(len(per_photo)):
        a, f = per_photo[list(group)], fixed[list(group)]  # of its machines
        compute = (batch + (f / a).sum()) / (1 / a).sum()
        seconds = compute + messages[len(group) - 1]
        if seconds < shortest:
            best, shortest = group, seconds
    return best


SOLUTIONS = {
    "distributed.split_batch": split_batch,
    "distributed.gradient_and_speeds": gradient_and_speeds,
    "distributed.best_group": best_group,
}
