"""The small GPT cut into stages of whole blocks, one rank for each: pipeline parallelism.

stages       cuts the model           schedules      who does what in which order, as data
predictions  when, if all goes well   runner         a schedule on real ranks, by hand
"""
