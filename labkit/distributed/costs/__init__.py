"""Seconds and bytes by formula: messages, models, layouts, steps; clusters by name.

The chooser, above, asks them. What others have published lies beside them.
"""
