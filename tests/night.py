"""What waits for `make prove`: long lessons, and all but the first values of some tests."""

from collections.abc import Sequence

import pytest

# Lessons whose test of the numbers, which runs the solved cells, takes over four core-seconds. By
# day nbval runs their notebooks, where a wrong answer hands on ours, and tests/exercises checks
# their solutions.
LONG_LESSONS = {
    "what_an_accelerator_can_change": "01_gpu/3_what_an_accelerator_can_change",
    "a_first_kernel": "01_gpu/4_a_first_kernel",
    "memory_and_warps": "01_gpu/5_memory_and_warps",
    "tiles": "01_gpu/6_tiles",
    "what_limits_a_kernel": "01_gpu/7_what_limits_a_kernel",
    "convolution_kernels": "01_gpu/8_convolution_kernels",
    "convolution_kernels_backwards": "01_gpu/9_convolution_kernels_backwards",
    "races_and_other_faults": "01_gpu/10_races_and_other_faults",
    "profiling": "01_gpu/11_profiling",
    "a_training_step_on_the_gpu": "01_gpu/12_a_training_step_on_the_gpu",
    "training": "01_gpu/13_training",
    "bfloat16": "02_tpu/3_bfloat16",
    "what_the_compiler_makes_of_a_layer": "02_tpu/5_what_the_compiler_makes_of_a_layer",
    "training_on_a_tpu": "02_tpu/11_training_on_a_tpu",
    "training_in_jax": "02_tpu/12_training_in_jax",
    "int8_from_the_formula": "03_fpga/1_int8_from_the_formula",
    "a_multiply_accumulate_array": "03_fpga/2_a_multiply_accumulate_array",
    "a_convolution_as_a_stream": "03_fpga/3_a_convolution_as_a_stream",
    "timing_and_proof": "03_fpga/4_timing_and_proof",
    "the_network_as_a_pipeline": "03_fpga/5_the_network_as_a_pipeline",
    "folding_under_a_budget": "03_fpga/6_folding_under_a_budget",
    "the_overlay": "03_fpga/7_the_overlay",
    "the_network_on_the_board": "03_fpga/8_the_network_on_the_board",
    "video_in_video_out": "03_fpga/9_video_in_video_out",
    "processes_and_collectives": "04_distributed/1_processes_and_collectives",
    "data_parallel_by_hand": "04_distributed/3_data_parallel_by_hand",
    "overlap_and_buckets": "04_distributed/4_overlap_and_buckets",
    "fewer_bytes": "04_distributed/5_fewer_bytes",
    "parameter_servers": "04_distributed/6_parameter_servers",
    "faults": "04_distributed/7_faults",
    "unlike_machines": "04_distributed/8_unlike_machines",
    "tensor_parallel": "04_distributed/9_tensor_parallel",
    "pipeline": "04_distributed/10_pipeline",
    "hybrid_and_sharded": "04_distributed/11_hybrid_and_sharded",
    "restarts_and_monitoring": "04_distributed/12_restarts_and_monitoring",
    "a_tokens_cost": "04_distributed/13_a_tokens_cost",
    "fine_tuning_and_compilers": "04_distributed/14_fine_tuning_and_compilers",
    "serving": "04_distributed/15_serving",
}


def others_by_night(values: Sequence, instead: str, by_day: int = 1) -> list:
    """For `parametrize`: all values, those behind the first `by_day` marked for the night.

    values    single ones, or tuples where the test takes several
    instead   the test that covers the same by day: mostly the very test that takes the values
    """
    marks = pytest.mark.night(instead=instead)
    found = []
    for place, value in enumerate(values):
        several = value if type(value) is tuple else (value,)
        found.append(pytest.param(*several, marks=marks if place >= by_day else ()))
    return found
