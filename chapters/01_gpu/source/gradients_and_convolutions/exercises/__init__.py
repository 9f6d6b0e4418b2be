"""The exercises of lesson gradients_and_convolutions: plain functions of arrays."""

from labkit_lessons.gpu.gradients_and_convolutions.exercises import (
    convolution,
    linear_backward,
    one_output,
)

EXERCISES = [
    one_output.one_output,
    linear_backward.linear_backward,
    convolution.conv2d_direct,
    convolution.im2col,
    convolution.conv2d_backward_weights,
    convolution.conv2d_backward_input,
]
