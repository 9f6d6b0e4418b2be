"""The exercises of what joins the machines: functions (.py) and texts (.toml) of each lesson."""

# In the order of the chapter; a lesson's name is that of its source, without the number.
LESSONS = ()
