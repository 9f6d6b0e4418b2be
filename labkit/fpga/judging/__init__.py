"""Exercises whose answer is a module, or a function that drives a board: what refuses it.

Lessons call rtl_exercise.py and board_exercise.py.

Modules (written by tools/modules.py):

board_exercise    Exercises whose answer is a Python function that drives a board: `f(dma, x)` and
                  the like.
demands           What is demanded of a learner's module whose words are right: rules, cycles,
                  gates, a clock.
first_difference  The first word of a module that is not as it should be: which, in which cycle, and
                  what shows.
given_modules     Modules that lessons give: a tree of adders, a queue, a counter, and our own
                  answers.
likely_slips      What is likely behind a tool's words: the slip in the learner's own text, with its
                  line.
rtl_exercise      Exercises whose answer is SystemVerilog: simulated, compared word by word, then
                  weighed.
rtl_judge         Judges a learner's module: its ports, its words in every case, its trials, its
                  demands.
trials            What a module whose words are right goes through next: stalls, a second reset, a
                  busy neighbour.
wave_table        A few cycles of a simulation as a table in plain text, for what `check` says of a
                  wrong word.
"""
