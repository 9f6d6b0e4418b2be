"""The exercises of lesson fine_tuning_and_compilers: LoRA, and a fair stopwatch."""

from labkit_lessons.distributed.fine_tuning_and_compilers.exercises import compare, lora

EXERCISES = [
    lora.lora_layer,
    compare.compare,
]
