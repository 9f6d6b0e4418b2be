"""What the unmodified `pynq` needs of us: its notes, its age, its connections.

board.py, above, prepares it before a board is used.
"""
