"""The exercises of lesson data_parallel_by_hand: a shard, the mean gradient, unlike shards."""

from labkit_lessons.distributed.data_parallel_by_hand.exercises import (
    average_gradients,
    shard,
    weighted_average,
)

EXERCISES = [
    shard.shard,
    average_gradients.average_gradients,
    weighted_average.weighted_average,
]
