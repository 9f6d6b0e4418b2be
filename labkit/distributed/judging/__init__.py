"""Exercises whose answer runs in ranks: a referee carries each message, and a judge tells.

Lessons call rank_exercise.py; what it starts is labkit.distributed.launching's.
"""
