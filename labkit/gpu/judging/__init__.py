"""Exercises whose answer is a kernel: its cases, its result, and what it may cost.

Each answer runs under `profile`, of profiler.py above.
"""
