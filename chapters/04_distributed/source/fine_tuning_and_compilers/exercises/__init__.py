"""The exercises of lesson fine_tuning_and_compilers: LoRA, and a fair stopwatch."""

from labkit_lessons.distributed.fine_tuning_and_compilers.exercises.compare import compare
from labkit_lessons.distributed.fine_tuning_and_compilers.exercises.lora import lora_layer

EXERCISES = [lora_layer, compare]
