"""The exercises of lesson fewer_bytes: the largest numbers, and local steps.

Dense: a case or a wrong idea is a row, to be held against the others.
"""

from labkit_lessons.distributed.fewer_bytes.exercises import local_sgd, top_k

EXERCISES = [top_k.top_k, local_sgd.local_sgd]
