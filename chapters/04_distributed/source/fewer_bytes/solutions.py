"""The solutions of lesson 04_distributed/5_fewer_bytes. Written by `labkit build` from

chapters/04_distributed/source/fewer_bytes/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import torch

from labkit.distributed import all_gather, ring_all_reduce


def top_k(rank, ranks, gradient, error, k):
    """gradient [N], error [N] of this rank -> mean of what the ranks send [N], new error [N]"""
    wanted = gradient + error
    mean = torch.zeros_like(wanted)
    places = wanted.abs().topk(k).indices.int()
    for values, where in zip(all_gather(wanted[places]), all_gather(places), strict=True):
        mean[where] += values / ranks
    new_error = wanted.clone()
    new_error[places] = 0
    return mean, new_error


def local_sgd(rank, ranks, w, x, y, rate, every):
    """w [D], the same in all ranks; x [T, D] and y [T] of this rank -> w after T steps [D]"""
    for step in range(len(y)):
        gradient = (x[step] @ w - y[step]) * x[step]
        w = w - rate * gradient
        if (step + 1) % every == 0:
            w = ring_all_reduce(w) / ranks
    return w


SOLUTIONS = {
    "distributed.top_k": top_k,
    "distributed.local_sgd": local_sgd,
}
