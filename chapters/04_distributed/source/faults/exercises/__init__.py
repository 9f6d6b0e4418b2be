"""The exercises of lesson faults: who is who, each push once, how often to store a checkpoint."""

from labkit_lessons.distributed.faults.exercises import apply_once, cost, tf_config

EXERCISES = [
    tf_config.tf_config,
    apply_once.apply_once,
    cost.cost_of_faults,
]
