"""The exercises of lesson a_tokens_cost: FLOPs, attention with a cache, and a step's seconds."""

from labkit_lessons.distributed.a_tokens_cost.exercises import attention, flops, seconds

EXERCISES = [
    flops.step_flops,
    attention.attend_one,
    seconds.decode_seconds,
]
