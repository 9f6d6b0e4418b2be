"""The exercises of lesson restarts_and_monitoring: what to save, for whom, and how to write it."""

from labkit_lessons.distributed.restarts_and_monitoring.exercises.reshard import reshard
from labkit_lessons.distributed.restarts_and_monitoring.exercises.save import save_whole
from labkit_lessons.distributed.restarts_and_monitoring.exercises.snapshot import snapshot

EXERCISES = [snapshot, reshard, save_whole]
