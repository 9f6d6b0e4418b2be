"""The lower half of the compiler: what expressions become, as instructions and registers.

Each is a layer of one class, which calls what it has and what those below it have. Lowest first:

Modules (written by tools/modules.py):

arithmetic     Arithmetic of a kernel: conversions, truth, and the operators of Python, as
               instructions.
control        Control flow of a kernel: branches, loops and inlined calls, and the masks of lanes
               in them.
emitter        Instructions and registers, during one pass over a kernel.
expressions    Expressions of a kernel: operators, comparisons, conditions, tuples.
float_indices  An index that is a float: which part of it makes it one, and what to write instead.
inlining       Device functions of a kernel: their bodies in place of their calls.
names          Names and attributes in a kernel: what they mean inside, and what is taken from
               outside.
states         States of random generators in a kernel: arrays of records of two uint64,
               states[i]["s0"].
variables      Variables of a kernel: what is assigned to a name, and the register where it lives.
views          Arrays in a kernel: their shapes, indices and slices, loads and stores.
"""
