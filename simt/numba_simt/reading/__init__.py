"""A kernel before it is translated: what its source says, and what its types are.

Modules (written by tools/modules.py):

extensions    What a program taught Numba: functions, methods and attributes that it overloads for
              kernels.
pruning       Branches that Numba leaves out before it looks at types: their tests are of constants
              alone.
signatures    Signatures given to `cuda.jit`: which one fits the arguments, and what they become.
source        The source of a kernel, parsed.
typing_rules  Numba's typing rules: what type an operation of numbers has.
unrolling     Loops over literal_unroll(tuple): a copy of the body for each item, as each has its
              own type.
webs          Which of a function's reads of variables see which of its assignments.
"""
