"""The matrix unit of a TPU: its registers, its dataflows, its tiles, its cycles.

`SystolicArray` of systolic.py is what lessons use.

Modules (written by tools/modules.py):

closed_form  The cycles of a product on a systolic array as a formula: it stands beside the
             simulation.
dataflow     The three dataflows of a systolic array, cycle by cycle: what is loaded, fed and summed
             when.
grid         The registers of a systolic array, and how they move on to their neighbours in one
             cycle.
operands     What a systolic array takes: two arrays of int8 or two of bfloat16, and words from a
             list.
patches      The matrix of im2col, read from the image when it is asked for: an implicit
             convolution.
pictures     The chapter's pictures: a systolic array in some of its cycles, or several arrays in
             one each.
systolic     `SystolicArray(rows, cols)`: the matrix unit of a TPU, stepped by its registers or
             counted whole.
tiling       How a product is laid on the array: which axis lies where, and the tiles that it is cut
             into.
vectorised   A systolic array without its registers: the same sums in the same order, the same
             occupancy.
"""
