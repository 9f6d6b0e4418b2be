"""The FPGA room: from int8 arithmetic to gates, and a board that the `pynq` package drives.

Each of these functions lives in a module of its own name. They are imported here, so that the name
means the function, whoever imports the module first; none of them loads a tool before it is called.

Modules (written by tools/modules.py):

arguments        What the room's functions are given: of the right kind, or a sentence that names
                 the argument.
board/           A virtual Pynq board: the unmodified `pynq` package drives the learner's own
                 module.
clock_report     How fast modules of the course can be clocked on the ECP5, as nextpnr reported it
                 once.
convnet/         The course's network as an accelerator: its jobs, words, cycles and gates.
cycle_formulas   Clock cycles of the course's RTL by formula, and how many multipliers it has.
errors           `RTLError`: what is wrong with a hardware description, in a sentence with file and
                 line.
integers/        The network in integers, and its numbers as words of the circuits' streams.
judging/         Exercises whose answer is a module, or a function that drives a board: what refuses
                 it.
library          The course's own RTL: the files that one of its modules is made of.
ports            The ports of a module, as Yosys reads them: names, directions, widths, signs, and
                 streams.
prepare          Compiles what the lessons run and never compile: the accelerator, and what all
                 modules share.
prove            `prove(source, top)`: does a property hold for every input and every stall, for
                 ever?
quantize         `quantize(model, images)`: the course's network in int8, from its weights and some
                 images.
running/         A run of a compiled design: its job, its process, its trace, cycle by cycle.
simulate         `simulate(source, top, inputs)`: SystemVerilog compiled, clocked, and what came out
                 of it.
source_view      SystemVerilog as a reader sees it: numbered lines, in colours, the line of a
                 message marked.
sources          SystemVerilog sources: read from text or files, named, hashed, and laid out for a
                 tool.
synthesize       `synthesize(source, top)`: how much of the XC7Z020, the FPGA of the Pynq boards, a
                 module takes.
timing           `place_and_route(source, top)`: how fast a module can be clocked, on an open
                 device, for real.
timing_pictures  Pictures of timing: the longest way from register to register, step by step.
toolchain/       The open tools: Yosys, Verilator, a C++ compiler, a solver; and answers that are
                 kept.
waveforms        `draw(trace)`: the waveform of a simulation as a logic analyser shows it, wrong
                 values marked.
"""

from labkit.fpga.board import VirtualBoard
from labkit.fpga.prove import prove
from labkit.fpga.quantize import quantize
from labkit.fpga.simulate import simulate
from labkit.fpga.synthesize import synthesize
from labkit.fpga.timing import place_and_route

__all__ = ["VirtualBoard", "place_and_route", "prove", "quantize", "simulate", "synthesize"]
