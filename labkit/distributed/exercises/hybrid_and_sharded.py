"""The exercises of lesson hybrid_and_sharded: a sharded step, bytes of a rank, a mesh's groups."""

from labkit.distributed.exercises.hybrid_bytes import bytes_per_rank
from labkit.distributed.exercises.hybrid_groups import group_along
from labkit.distributed.exercises.hybrid_step import sharded_step

EXERCISES = [sharded_step, bytes_per_rank, group_along]
