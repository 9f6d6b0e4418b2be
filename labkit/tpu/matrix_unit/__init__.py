"""The matrix unit of a TPU: its registers, its dataflows, its tiles, its cycles.

`SystolicArray` of systolic.py is what lessons use.
"""
