"""The exercises of lesson pipeline: an order of work, a stage in ranks, and how many pieces."""

from labkit_lessons.distributed.pipeline.exercises import best, gpipe, order

EXERCISES = [
    order.order_of_stage,
    gpipe.gpipe_stage,
    best.best_micro_batches,
]
