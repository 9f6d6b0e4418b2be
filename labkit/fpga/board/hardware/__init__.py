"""The board behind its services: bus, memory, DMA, pins and programmable logic.

board.py and private.py, above, put a machine into use.
"""
