"""The exercises of lesson tensor_parallel: an MLP in parts, heads of a rank, gradients in parts."""

from labkit_lessons.distributed.tensor_parallel.exercises import backward, heads, mlp

EXERCISES = [
    mlp.split_mlp,
    heads.heads_of_rank,
    backward.column_backward,
]
