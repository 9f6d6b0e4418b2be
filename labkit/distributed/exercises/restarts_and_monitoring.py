"""The exercises of lesson restarts_and_monitoring: what to save, for whom, and how to write it."""

from labkit.distributed.exercises.restarts_reshard import reshard
from labkit.distributed.exercises.restarts_save import save_whole
from labkit.distributed.exercises.restarts_snapshot import snapshot

EXERCISES = [snapshot, reshard, save_whole]
