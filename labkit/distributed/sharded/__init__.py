"""Data parallel training whose state is cut over the ranks: the bytes that each stage keeps.

How such a training runs, by hand and by PyTorch, lies with lesson hybrid_and_sharded.
"""
