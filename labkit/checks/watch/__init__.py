"""What guards a check against an answer that nobody has read: it may hang, cheat or crash.

`run_cases` (run.py) is the door: it calls the answer on each case, under a clock that counts its
work (clock.py) and a guard that sees what it calls (guard.py, forbidden.py, source.py).
"""
