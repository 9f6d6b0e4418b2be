"""What the simulated server does: requests, how batches form, times of steps, runs.

simulation.py, above, hands it to the lesson.
"""
