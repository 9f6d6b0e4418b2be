"""The exercises of lesson restarts_and_monitoring: what to save, for whom, and how to write it."""

from labkit_lessons.distributed.restarts_and_monitoring.exercises import reshard, save, snapshot

EXERCISES = [
    snapshot.snapshot,
    reshard.reshard,
    save.save_whole,
]
