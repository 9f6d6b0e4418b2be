"""The open tools: Yosys, Verilator, a C++ compiler, a solver; and answers that are kept.

simulate.py, synthesize.py, prove.py and timing.py, above, ask them.

Modules (written by tools/modules.py):

around       A generated module around a module: the sources of both, and the text of the instance
             inside.
axi_driver   The driver of AXI ports, as Python sees it: structures and functions of driver/axi.h.
cache_limit  The limit of what the room keeps in the cache: of all models and reports, the last used
             stay.
cached       Answers of slow tools, kept in the cache under a hash of everything that they depend
             on.
cpp          C++ compiled on this machine: which compiler, what it says, and a cache of libraries.
cxxrtl       The engine "cxxrtl": Yosys writes a design as C++, which compiles in about a second.
elaborate    One process of Yosys for a module: its ports, what Yosys's check finds, and its C++.
lint         Is a module sound? Verilator's lint, then Yosys' check: the first finding, as one
             sentence.
lost_bits    Which assignments to fewer bits lose one? Verilator warns of all, also where a constant
             fits.
models       A design compiled for simulation: a shared library with a table of functions in plain
             C.
multipliers  The multipliers of a module: written, left after optimisation, and where they ended.
proof_bench  What is asked of a module in a proof: assumptions on its inputs, assertions on its
             outputs.
solver       Runs an SMT solver on a module: is there an input, over some cycles, that breaks an
             assertion?
subset       The SystemVerilog that both Yosys and Verilator take: what is outside, and how to write
             it.
tools        What all the tools share: a package with a version, a limit of work, and last words.
verilated    The engine "verilator": Verilator writes a design as C++; for large designs, and to
             compare.
yosys        Runs Yosys, the open synthesis tool: a script of its commands over sources, answers as
             text.
"""
