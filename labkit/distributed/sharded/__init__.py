"""Data parallel training whose state is cut over the ranks: the bytes that each stage keeps.

How such a training runs, by hand and by PyTorch, lies with lesson hybrid_and_sharded.

Modules (written by tools/modules.py):

memory  ZeRO's memory table: bytes that a rank keeps for the weights it trains, by formula.
"""
