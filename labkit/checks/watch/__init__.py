"""What guards a check against an answer that nobody has read: it may hang, cheat or crash.

This is the door: the rest of the checks takes what it needs from here. `run_watched` calls the
answer on each case, under a clock that counts its work (clock.py, meter.py) and a guard that sees
what it calls (guard.py, with forbidden.py, escapes.py, stand_ins.py and source.py), within a limit
of memory (memory.py). What it leaves behind is cleared away (leftovers.py), and what is expected is
kept out of its sight (run.py).

Modules (written by tools/modules.py):

case_run   One call of a learner's function, on one case, and what happened in it.
clock      Stops a learner's function that does not return, on a fast machine and on a slow or busy
           one.
escapes    The functions that a learner's code may not call in a check, by what they would do to it.
forbidden  What an exercise forbids: dotted names become things that a run can be held against.
guard      Sees whether a learner's function calls what the exercise forbids, under whatever name.
leftovers  What a learner's function leaves behind in this process is cleared away, and told.
memory     How much memory a learner's function may take: most of what is free, and then
           MemoryError.
meter      Processor time: what the operating system knows of one thread, and what a loop costs
           here.
run        Runs a learner's function on every case of an exercise and notes what happened.
source     Whose code a frame runs, and how to name one of the learner's lines.
stand_ins  Stand-ins for forbidden functions whose calls the profiler does not see.
"""

from labkit.checks.watch.case_run import CaseRun
from labkit.checks.watch.guard import Hit
from labkit.checks.watch.run import OwnAnswer, WatchedRun, run_watched, watch_cases
from labkit.checks.watch.source import Line

__all__ = [
    "CaseRun",
    "Hit",
    "Line",
    "OwnAnswer",
    "WatchedRun",
    "run_watched",
    "watch_cases",
]
