"""The exercises of lesson pipeline: an order of work, a stage in ranks, and how many pieces."""

from labkit.distributed.exercises.pipeline_best import best_micro_batches
from labkit.distributed.exercises.pipeline_gpipe import gpipe_stage
from labkit.distributed.exercises.pipeline_order import order_of_stage

EXERCISES = [order_of_stage, gpipe_stage, best_micro_batches]
