"""The exercises of chapter 03_fpga: functions (.py) and texts (.toml) of each lesson.

An answer in SystemVerilog is a text; `labkit.fpga.rtl_exercise` says how it is judged. Beside the
lessons lies the package `wrong`: what a wrong idea computes.
"""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = (
    "int8_from_the_formula",
    "a_multiply_accumulate_array",
    "a_convolution_as_a_stream",
    "timing_and_proof",
    "the_network_as_a_pipeline",
    "folding_under_a_budget",
    "the_overlay",
    "the_network_on_the_board",
    "video_in_video_out",
)
