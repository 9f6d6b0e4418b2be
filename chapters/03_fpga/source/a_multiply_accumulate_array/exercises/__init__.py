"""The exercises of lesson a_multiply_accumulate_array: modules that learners write."""

from labkit_lessons.fpga.a_multiply_accumulate_array.exercises import (
    mac,
    mac_array,
    requantize_rtl,
)

EXERCISES = [mac.mac, mac_array.mac_array, requantize_rtl.requantize_rtl]
