"""The exercises of the lesson: numbers and weights in bytes, a sum's width, a sum in a byte."""

from labkit_lessons.fpga.int8_from_the_formula.exercises import (
    accumulator_bits,
    quantize_weights,
    requantize,
    to_integer,
)

EXERCISES = [
    to_integer.to_integer,
    quantize_weights.quantize_weights,
    accumulator_bits.accumulator_bits,
    requantize.requantize,
]
