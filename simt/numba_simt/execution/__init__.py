"""The machine: how memory lies, the C core in c/, and what that counted and found.

Modules (written by tools/modules.py):

atomic_calls  The atomic that does an update in one: found from the operation, written in the line's
              names.
counting      From what the machine noted to what a profiler shows: counters by line, requests to
              memory.
cures         Which cure fits a race: by what the kernel does with the element, and where a barrier
              is missing.
flow          What a program's instructions tell without running it: who computes from what, loops,
              branches.
handovers     What one thread tells another through memory: flags, locks and tickets, and what they
              lack.
hazards       What the machine finds wrong in a kernel, as sentences: what, where, who, and what to
              do.
layout        How a launch's arrays lie in memory.
machine       Launches a program on the machine in c/machine.c: lays out its memory, runs it, reads
              the result.
native        C sources, compiled on this machine once and kept in the cache folder.
places        Names for what the machine knows by number: lines, threads, elements of arrays.
printing      What a kernel prints: the C core keeps a row for each line, and Python writes the
              lines.
racing_pair   Two racing accesses in the order of the program, and where a barrier is missing
              between them.
structs       The structures that Python fills for the machine: twins of those in c/machine.h.
tables        The instruction set as C reads it: enumerations and tables, written from the rows of
              ops.py.
target        The GPU that launches stand for, where that decides what is a mistake, and how
              strictly.
updates       Elements that several threads read, change and write, so that updates are lost.
waiting       A loop that went on too long: does it wait for a value in memory, or does it never
              end?
"""
