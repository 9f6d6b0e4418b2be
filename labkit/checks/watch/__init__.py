"""What guards a check against an answer that nobody has read: it may hang, cheat or crash.

This is the door: the rest of the checks takes what it needs from here. `run_watched` calls the
answer on each case, under a clock that counts its work (clock.py, meter.py) and a guard that sees
what it calls (guard.py, with forbidden.py, escapes.py, stand_ins.py and source.py), within a limit
of memory (memory.py). What it leaves behind is cleared away (leftovers.py), and what is expected is
kept out of its sight (own_answer.py).
"""

from labkit.checks.watch.case_run import CaseRun
from labkit.checks.watch.guard import Hit
from labkit.checks.watch.run import WatchedRun, run_watched
from labkit.checks.watch.source import Line

__all__ = ["CaseRun", "Hit", "Line", "WatchedRun", "run_watched"]
