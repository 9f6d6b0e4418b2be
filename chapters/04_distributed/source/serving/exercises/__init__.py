"""The exercises of lesson serving: a percentile, slots of tokens in blocks, who joins a batch."""

from labkit_lessons.distributed.serving.exercises.joins import who_joins
from labkit_lessons.distributed.serving.exercises.percentile import latency_percentile
from labkit_lessons.distributed.serving.exercises.slots import token_slots

EXERCISES = [latency_percentile, token_slots, who_joins]
