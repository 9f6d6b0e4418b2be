"""One launch, counted line by line.

Modules (written by tools/modules.py):

counters       What the SIMT machine counts: each name with a sentence, its unit and its Nsight
               Compute metric.
profile_table  A profile as a table, line by line: as text of 100 characters a line, and as HTML.
profiler       `profile(kernel, grid, block, *args)`: one launch on the SIMT machine, counted line
               by line.
"""
