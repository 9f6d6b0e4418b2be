"""The sizes of the lesson's blocks, by which its wrong ideas part from the right ones."""

THREADS = 128  # of a block, along one axis
BLOCK = (32, 8)  # along x, along y
