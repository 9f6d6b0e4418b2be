"""The exercises of lesson gradients: plain functions of arrays."""

from labkit_lessons.gpu.gradients.exercises import linear_backward, one_output, relu_backward

EXERCISES = [
    one_output.one_output,
    linear_backward.linear_backward,
    relu_backward.relu_backward,
]
