"""The exercises of lesson fewer_bytes: the largest numbers, and local steps."""

from labkit_lessons.distributed.fewer_bytes.exercises import local_sgd, top_k

EXERCISES = [top_k.top_k, local_sgd.local_sgd]
