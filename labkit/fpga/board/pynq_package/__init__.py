"""What the unmodified `pynq` needs of us: its notes, its age, its connections.

board.py, above, prepares it before a board is used.

Modules (written by tools/modules.py):

compatibility  The unmodified pynq 4.0.0 on a newer stack than it allows: Colab's Python 3.13 and
               NumPy 2.
foreign_hwh    An `.hwh` that Vivado has written, and pynq 4.0.0: a defect of pynq's, named before
               it shows.
late_pynq      What solutions use of pynq, which is imported when it is called, and not before.
pynq_cache     pynq's notes: the metadata of the latest bitstream, and its state, in a folder of
               this process.
"""
