"""The exercises of lesson tensor_parallel: an MLP in parts, heads of a rank, gradients in parts."""

from labkit.distributed.exercises.tensor_parallel_backward import column_backward
from labkit.distributed.exercises.tensor_parallel_heads import heads_of_rank
from labkit.distributed.exercises.tensor_parallel_mlp import split_mlp

EXERCISES = [split_mlp, heads_of_rank, column_backward]
