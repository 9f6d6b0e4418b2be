"""The exercises of lesson hybrid_and_sharded: a sharded step, bytes of a rank, a mesh's groups."""

from labkit_lessons.distributed.hybrid_and_sharded.exercises.groups import group_along
from labkit_lessons.distributed.hybrid_and_sharded.exercises.rank_bytes import bytes_per_rank
from labkit_lessons.distributed.hybrid_and_sharded.exercises.step import sharded_step

EXERCISES = [sharded_step, bytes_per_rank, group_along]
