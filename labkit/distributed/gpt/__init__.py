"""A small GPT that writes one character after another, and the book that it learns from.

Everything that chapter 04 does to a model (splits it, shards it, restarts it) it does to this one,
and compares with `training.train`, which does it in one process.
"""
