"""The exercises of lesson pipeline: an order of work, a stage in ranks, and how many pieces."""

from labkit_lessons.distributed.pipeline.exercises.best import best_micro_batches
from labkit_lessons.distributed.pipeline.exercises.gpipe import gpipe_stage
from labkit_lessons.distributed.pipeline.exercises.order import order_of_stage

EXERCISES = [order_of_stage, gpipe_stage, best_micro_batches]
