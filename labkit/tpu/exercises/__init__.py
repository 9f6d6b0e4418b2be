"""The exercises of chapter 02_tpu: functions (.py) and texts (.toml) of each lesson.

Beside the lessons lie float32_bits.py and float32_numbers.py, which rounding to bfloat16 takes, and
the package `wrong`.
"""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = (
    "the_systolic_array",
    "bfloat16",
    "what_the_compiler_makes_of_a_layer",
    "what_a_training_step_costs",
    "training_on_a_tpu",
)
