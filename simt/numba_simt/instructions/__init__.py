"""The lower half of the compiler: what expressions become, as instructions and registers.

Each is a layer of one class, which calls what it has and what those below it have. Lowest first:

emitter       instructions and registers    views        arrays: indices, loads, stores
arithmetic    conversions and operators     names        names and attributes
variables     and the register of each      expressions  comparisons, conditions, tuples
control       branches, loops, masks        inlining     device functions
"""
