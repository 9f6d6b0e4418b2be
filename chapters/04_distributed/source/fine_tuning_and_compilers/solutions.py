"""The solutions of lesson 04_distributed/14_fine_tuning_and_compilers. Written by `labkit build` from

chapters/04_distributed/source/fine_tuning_and_compilers/lesson.py

Edit that, and build again. The code is as dense as it stands in the lesson.
"""

import numpy as np


def lora_layer(x, w, a, b, alpha):
    """x[n,I], frozen w[O,I], a[r,I], b[O,r], alpha -> y[n,O], merged[O,I]"""
    scale = alpha / len(a)
    y = x @ w.T + scale * (x @ a.T) @ b.T
    return y, w + scale * b @ a


def compare(first, second, x, rounds, clock, wait):
    """two functions, their input, how many rounds, clock, wait -> seconds of each, or None"""
    same = np.allclose(first(x), second(x), rtol=0, atol=1e-3)
    wait()
    if not same:
        return None
    times_of_first, times_of_second = [], []
    for _ in range(rounds):
        for function, times in ((first, times_of_first), (second, times_of_second)):
            start = clock()
            function(x)
            wait()
            times.append(clock() - start)
    return np.median(times_of_first), np.median(times_of_second)


SOLUTIONS = {
    "distributed.lora_layer": lora_layer,
    "distributed.compare": compare,
}
