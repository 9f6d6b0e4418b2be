"""The exercises of chapter 03_fpga: functions (.py) and texts (.toml) of each lesson.

LESSONS = [
    "int8_from_the_formula",
    "a_multiply_accumulate_array",
]
