"""TensorFlow's parameter servers: a cluster of real processes, that can be killed.

Lesson faults takes them from recorded.py. What they are compared with is
labkit.distributed.parameter_server.
"""
