"""The exercises of lesson fine_tuning_and_compilers: LoRA, int8 weights, and a fair stopwatch."""

from labkit.distributed.exercises.compilers_compare import compare
from labkit.distributed.exercises.compilers_int8 import quantise_rows
from labkit.distributed.exercises.compilers_lora import lora_layer

EXERCISES = [lora_layer, quantise_rows, compare]
