"""Kernels with a race, the cure that fits each, and their twins to which it was applied.

Each module registers pairs of one kind in `PAIRS` (pairs.py).
"""

from . import blocks, in_place, lanes, lost_updates, mixed_accesses, reductions, tiles  # noqa: F401
from .pairs import PAIRS  # noqa: F401
