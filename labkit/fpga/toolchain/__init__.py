"""The open tools: Yosys, Verilator, a C++ compiler, a solver; and answers that are kept.

simulate.py, synthesize.py, prove.py and timing.py, above, ask them.
"""
