"""The exercises of lesson fine_tuning_and_compilers: LoRA, and a fair stopwatch."""

from labkit.distributed.exercises.compilers_compare import compare
from labkit.distributed.exercises.compilers_lora import lora_layer

EXERCISES = [lora_layer, compare]
