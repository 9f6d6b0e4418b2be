"""The solutions of lesson 04_distributed/12_restarts_and_monitoring. Written by `labkit build` from

chapters/04_distributed/source/restarts_and_monitoring/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np

from labkit_lessons.distributed.restarts_and_monitoring.by_hand import share


def snapshot(training):
    """a running training -> a dict of all that another one needs to go on"""
    return {
        "weights": training.weights.copy(),
        "mean": training.mean.copy(),
        "square": training.square.copy(),
        "step": training.step,
        "position": training.position,
        "random": training.random.bit_generator.state,
    }


def reshard(files, ranks, rank):
    """files with len(file) and file.read(begin, end); ranks that read, and which -> its rows"""
    begin, end = share(sum(len(file) for file in files), ranks, rank)
    parts = []
    first = 0  # of this file's rows, counted through all files
    for file in files:
        low = max(begin, first)
        high = min(end, first + len(file))
        if low < high:
            parts.append(file.read(low - first, high - first))
        first += len(file)
    return np.concatenate(parts)


def save_whole(disk, name, shards):
    """a disk; "step-20"; the shards of all ranks; afterwards `latest` names a whole checkpoint"""
    for rank, shard in enumerate(shards):
        disk.write(f"{name}/{rank}", shard)
        disk.sync(f"{name}/{rank}")
    disk.write("latest.new", name)
    disk.sync("latest.new")
    disk.rename("latest.new", "latest")


SOLUTIONS = {
    "distributed.snapshot": snapshot,
    "distributed.reshard": reshard,
    "distributed.save_whole": save_whole,
}
