"""The exercises of lesson serving: a percentile, slots of tokens in blocks, who joins a batch."""

from labkit.distributed.exercises.serving_joins import who_joins
from labkit.distributed.exercises.serving_percentile import latency_percentile
from labkit.distributed.exercises.serving_slots import token_slots

EXERCISES = [latency_percentile, token_slots, who_joins]
