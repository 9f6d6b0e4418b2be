"""The exercises of lesson hybrid_and_sharded: a sharded step, bytes of a rank, a mesh's groups."""

from labkit_lessons.distributed.hybrid_and_sharded.exercises import groups, rank_bytes, step

EXERCISES = [
    step.sharded_step,
    rank_bytes.bytes_per_rank,
    groups.group_along,
]
