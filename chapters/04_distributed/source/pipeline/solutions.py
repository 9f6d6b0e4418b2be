"""The solutions of lesson 04_distributed/10_pipeline. Written by `labkit build` from

chapters/04_distributed/source/pipeline/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import torch

from labkit.distributed import receive, send


def order_of_stage(stage, stages, batches):
    """which stage, of how many; the numbers of the micro-batches [m] -> its order under 1F1B"""
    m = len(batches)
    order = []
    ahead = min(stages - 1 - stage, m)
    order += [f"F{one}" for one in batches[:ahead]]
    for i in range(m):
        if ahead + i < m:
            order.append(f"F{batches[ahead + i]}")
        order.append(f"B{batches[i]}")
    return order


def forwards(rank, ranks, w, x):
    """x[m,n,D], of which others than rank 0 use m and n -> (input, output) of each micro-batch"""
    kept = []
    for own in x:
        a = own if rank == 0 else torch.empty(len(own), len(w))  # w has a row for each input
        if rank > 0:
            receive(a, rank - 1)
        y = a @ w
        if rank < ranks - 1:
            send(y, rank + 1)
        kept.append((a, y))
    return kept


def gpipe_stage(rank, ranks, w, x, target):
    """w[I,O]; x[m,n,D], which rank 0 reads; target[m,n,E], which the last rank reads -> dw[I,O]"""
    dw = torch.zeros_like(w)
    for (a, y), goal in zip(forwards(rank, ranks, w, x), target, strict=True):
        if rank == ranks - 1:
            dy = (y - goal) / (len(target) * len(y))
        else:
            dy = torch.empty_like(y)
            receive(dy, rank + 1)
        dw += a.T @ dy
        if rank > 0:
            send(dy @ w.T, rank - 1)
    return dw


def best_micro_batches(choices, stages, sequences, seconds, overhead, room):
    """numbers m; p; N; seconds per sequence, and more per micro-batch; room -> one m or 0"""
    best, shortest = 0, float("inf")
    for m in choices:
        size = sequences // m
        step = (m + stages - 1) * (size * seconds + overhead)
        if min(m, stages) * size <= room and step < shortest:
            best, shortest = m, step
    return best


SOLUTIONS = {
    "distributed.order_of_stage": order_of_stage,
    "distributed.gpipe_stage": gpipe_stage,
    "distributed.best_micro_batches": best_micro_batches,
}
