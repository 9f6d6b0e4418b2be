"""Jobs that cost nothing, or fail, for clusters of real processes: pickled by name."""

import os
import threading
import time

import torch


class Sum:
    """The gradient of a step is a number that tells worker and step: 1, 10 or 100 by worker."""

    size = 5

    def start(self):
        return torch.zeros(self.size)

    def fingerprint(self):
        return f"version 1: weight[{self.size}]"

    def gradient(self, flat, worker, step, workers):
        return float(step), torch.full((self.size,), -(10.0**worker)), 1


class Raises(Sum):
    """Worker 1 fails in its third step."""

    def gradient(self, flat, worker, step, workers):
        if (worker, step) == (1, 2):
            print("one line before")
            raise ZeroDivisionError("on purpose")
        return super().gradient(flat, worker, step, workers)


class Exits(Sum):
    """Worker 0 leaves in its second step."""

    def gradient(self, flat, worker, step, workers):
        if (worker, step) == (0, 1):
            os._exit(3)
        return super().gradient(flat, worker, step, workers)


class Hangs(Sum):
    """Worker 1's second step never ends."""

    def gradient(self, flat, worker, step, workers):
        while (worker, step) == (1, 1):
            time.sleep(1)
        return super().gradient(flat, worker, step, workers)


class Locked(Sum):
    """It cannot be sent to another process."""

    def __init__(self):
        self.lock = threading.Lock()
