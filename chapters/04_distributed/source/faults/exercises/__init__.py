"""The exercises of lesson faults: who is who, each push once, how often to store a checkpoint."""

from labkit_lessons.distributed.faults.exercises.apply_once import apply_once
from labkit_lessons.distributed.faults.exercises.cost import cost_of_faults
from labkit_lessons.distributed.faults.exercises.tf_config import tf_config

EXERCISES = [tf_config, apply_once, cost_of_faults]
