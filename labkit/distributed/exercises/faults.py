"""The exercises of lesson faults: who is who, each push once, how often to store a checkpoint."""

from labkit.distributed.exercises.faults_apply_once import apply_once
from labkit.distributed.exercises.faults_cost import cost_of_faults
from labkit.distributed.exercises.faults_tf_config import tf_config

EXERCISES = [tf_config, apply_once, cost_of_faults]
