"""A run of a compiled design: its job, its process, its trace, cycle by cycle.

simulate.py, above, begins it; waveforms.py draws what came of it.

Modules (written by tools/modules.py):

jobs          From what a caller of `simulate` passes to what the driver wants: a job, with its
              arrays.
runs          Runs of compiled designs, in a process that may end on one: simulator.py.
simulator     The process in which compiled designs run: a job comes through stdin, its outcome goes
              to stdout.
stalls        Stalls: when a stream's sender withholds its next word, or its receiver its ready.
stream_moves  What went on at the streams of a run: which words moved, what waits, and what went
              wrong first.
traces        A trace: the value of each port, and of what else was watched, in each clock cycle.
vcd           A trace as a VCD file, the format of waveform viewers (IEEE 1364-2005, clause 18).
wave_window   What of a trace a waveform shows: some cycles, values as spans, and what was expected.
"""
