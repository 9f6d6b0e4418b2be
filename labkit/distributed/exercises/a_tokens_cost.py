"""The exercises of lesson a_tokens_cost: FLOPs, attention with a cache, and a step's seconds."""

from labkit.distributed.exercises.token_attention import attend_one
from labkit.distributed.exercises.token_flops import step_flops
from labkit.distributed.exercises.token_seconds import decode_seconds

EXERCISES = [step_flops, attend_one, decode_seconds]
