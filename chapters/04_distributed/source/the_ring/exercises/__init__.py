"""The exercises of lesson the_ring: the two halves of a ring, and the ring.

Each is a function of a rank that sends to the next one only. A right sum at the wrong cost is
refused: bytes, links and steps are those that the referee has counted.
"""

from labkit_lessons.distributed.the_ring.exercises import (
    all_gather,
    reduce_scatter,
    ring_all_reduce,
)

EXERCISES = [reduce_scatter.reduce_scatter, all_gather.all_gather, ring_all_reduce.ring_all_reduce]
