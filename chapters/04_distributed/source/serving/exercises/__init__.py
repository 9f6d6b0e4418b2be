"""The exercises of lesson serving: a percentile, slots of tokens in blocks, who joins a batch."""

from labkit_lessons.distributed.serving.exercises import joins, percentile, slots

EXERCISES = [
    percentile.latency_percentile,
    slots.token_slots,
    joins.who_joins,
]
