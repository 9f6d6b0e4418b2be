"""A run of a compiled design: its job, its process, its trace, cycle by cycle.

simulate.py, above, begins it; waveforms.py draws what came of it.
"""
