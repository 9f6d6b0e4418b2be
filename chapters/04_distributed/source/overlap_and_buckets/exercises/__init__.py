"""The exercises of lesson overlap_and_buckets: buckets, accumulation, and an overlapped step."""

from labkit_lessons.distributed.overlap_and_buckets.exercises import (
    accumulate,
    buckets,
    overlapped,
)

EXERCISES = [buckets.buckets, accumulate.accumulate, overlapped.overlapped]
