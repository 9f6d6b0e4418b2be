"""The exercises of lesson a_tokens_cost: FLOPs, attention with a cache, and a step's seconds."""

from labkit_lessons.distributed.a_tokens_cost.exercises.attention import attend_one
from labkit_lessons.distributed.a_tokens_cost.exercises.flops import step_flops
from labkit_lessons.distributed.a_tokens_cost.exercises.seconds import decode_seconds

EXERCISES = [step_flops, attend_one, decode_seconds]
