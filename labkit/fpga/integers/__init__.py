"""The network in integers, and its numbers as words of the circuits' streams.

quantize.py, above, makes the integers from trained weights.
"""
