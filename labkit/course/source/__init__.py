"""A lesson's source, and what is made from it: two notebooks, a module of solutions.

build.py, above, writes what draft.py says.

Modules (written by tools/modules.py):

definitions  What the code of a lesson defines at the top of its cells, name by name.
draft        What a lesson's source says should lie in the course: two notebooks and a module of
             solutions.
lesson       A lesson as its author writes it: one source that carries the learner's text and the
             solution.
percent      Reads a lesson's source: jupytext's py:percent format, the part of it that lessons use.
relations    What a sentence says of two numbers of a cell, as an expression that the build
             evaluates.
solutions    The solutions of a lesson as a module: what its source says between the solution's
             markers.
stubs        The two texts of a code cell: what the learner sees, and the solution.
twins        The two notebooks that a lesson stands for: the learner's, and its twin with the
             solution.
"""
