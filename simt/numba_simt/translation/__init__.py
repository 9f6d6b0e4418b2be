"""The upper half of the compiler: from a whole function to a program.

Modules (written by tools/modules.py):

assignments  Assignments of a kernel: to variables, to elements of arrays, to several of them at
             once.
frontend     The front end: from an unmodified Python function to the program of the SIMT machine.
loops        Loops of a kernel: `while` and `for`, with `break`, `continue` and `else`.
statements   Statements of a kernel: expressions alone, branches, and what ends a function.
"""
