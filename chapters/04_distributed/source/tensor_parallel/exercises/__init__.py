"""The exercises of lesson tensor_parallel: an MLP in parts, heads of a rank, gradients in parts."""

from labkit_lessons.distributed.tensor_parallel.exercises.backward import column_backward
from labkit_lessons.distributed.tensor_parallel.exercises.heads import heads_of_rank
from labkit_lessons.distributed.tensor_parallel.exercises.mlp import split_mlp

EXERCISES = [split_mlp, heads_of_rank, column_backward]
