"""Exercises whose answer is a kernel: its cases, its result, and what it may cost.

Each answer runs under `profile`, of profiler.py above.

Modules (written by tools/modules.py):

convolution_gradients  The gradients of a convolution one by one: right answers, of which wrong
                       ideas take parts.
convolution_ties       Which output, tap and pixel of a convolution meet, and sums over them.
cost_limits            What a right kernel may cost: about as much as ours, on the same arguments.
exercise_data          Numbers for the kernels' cases, chosen so that no right answer is refused for
                       its rounding.
kernel_exercise        Exercises whose answer is a kernel: launched by `profile`, judged by result,
                       hazards and cost.
"""
