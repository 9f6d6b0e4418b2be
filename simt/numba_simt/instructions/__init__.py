"""The lower half of the compiler: what expressions become, as instructions and registers.

Each is a layer of one class, which calls what it has and what those below it have. Lowest first:

Modules (written by tools/modules.py):

arithmetic     Arithmetic of a kernel: conversions, truth, and the operators of Python, as
               instructions.
choices        One value of two, by a condition: numbers, tuples, arrays.
control        Control flow of a kernel: branches, loops and inlined calls, and the masks of lanes
               in them.
elements       Elements of what a kernel indexes: of arrays, of one of several arrays, of tuples.
emitter        Instructions and registers, during one pass over a kernel.
expressions    Expressions of a kernel: operators, comparisons, conditions, tuples.
filling        Whole parts of arrays as targets: x[:] = 0, a[i, :] = b[j, :], element by element.
float_indices  An index that is a float: which part of it makes it one, and what to write instead.
inlining       Device functions of a kernel: their bodies in place of their calls.
names          Names and attributes in a kernel: what they mean inside, and what is taken from
               outside.
optionals      What a kernel does with a number that may be None: it is one, or the thread ends.
records        Records of a kernel: arrays of structured dtypes, their fields, and one of them as a
               value.
rounds         Loops as instructions: counted ones, and any that go on as long as a test holds.
sequences      What a kernel can run over: ranges, arrays, tuples, enumerate and zip of them.
shapes         Other shapes of the same memory: reshape, view, flat, ravel, transpose, real and
               imag.
subscripts     What stands in brackets or behind a dot, for reading and for writing.
variables      Variables of a kernel: what is assigned to a name, and the register where it lives.
views          Arrays in a kernel: their shapes, indices and slices, loads and stores.
"""
