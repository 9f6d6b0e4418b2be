"""The solutions of lesson 02_tpu/13_what_costs_an_afternoon. Written by `labkit build` from

chapters/02_tpu/source/what_costs_an_afternoon/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def count_programs(lengths, rates, whole, powers, bucket):
    """lengths [n], rates [n], whole [n] of bool, powers [n], a multiple -> a whole number"""
    padded = np.ceil(lengths / bucket)
    keys = set()
    for i in range(len(lengths)):
        keys.add((padded[i], whole[i], powers[i]))
    return len(keys)


def step_begins(prepare, compute, k):
    """ms for each batch [n], ms for each step [n], places of the queue -> ms [n]"""
    begins = []
    ready = 0  # when the host has prepared the batch before
    free = 0  # when the device has ended the step before
    for i in range(len(prepare)):
        start = ready
        if i >= k:
            start = max(ready, begins[i - k])
        ready = start + prepare[i]
        begins.append(max(ready, free))
        free = begins[i] + compute[i]
    return np.array(begins)


SOLUTIONS = {
    "tpu.count_programs": count_programs,
    "tpu.step_begins": step_begins,
}
