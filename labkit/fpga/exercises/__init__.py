"""The exercises of chapter 03_fpga: functions (.py) and texts (.toml) of each lesson."""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = ("a_convolution_as_a_stream",)
