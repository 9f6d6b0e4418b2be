"""The exercises of chapter 01_gpu: functions (.py) and texts (.toml) of each lesson.

Beside the lessons lie convolution_gradients.py, right answers that two of them share, and the
package `wrong`.
"""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = (
    "gradients_and_convolutions",
    "threads_blocks_and_memory",
    "tiles",
    "what_limits_a_kernel",
    "convolution_kernels",
    "debugging_and_profiling",
    "training",
)
