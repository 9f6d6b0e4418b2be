"""Stalls: when a stream's sender withholds its next word, or its receiver its ready.

A pattern is a row of 0 and 1, one for each clock cycle and gone through again and again: 1 stalls.
A design under valid/ready gives the same words whatever the pattern (lesson
a_convolution_as_a_stream); only the cycles change.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from labkit.fpga import arguments
from labkit.fpga.errors import RTLError

PERIOD = 4093  # cycles; a prime, so that no loop of a design stays in step with the pattern


@dataclass(frozen=True)
class Stalls:
    """By chance, on all streams: each stalls in a `share` of its cycles, independent of others."""

    seed: int
    share: float = 0.3

    def pattern(self, stream: str) -> np.ndarray:
        """The pattern of one stream: the same for the same seed and name on every machine."""
        return random_stalls(self.share, [self.seed, zlib.crc32(stream.encode())])


def checked(stalls: object) -> Stalls | dict[str, Sequence[int]]:
    """Stalls as `simulate` takes them; raises RTLError for anything else."""
    if not isinstance(stalls, Stalls):
        return arguments.mapping("stalls", stalls, '{"x": [0, 1]}, or Stalls(seed=1, share=0.3)')
    arguments.whole("The seed of the stalls", stalls.seed, 0)
    arguments.real("The share of stalled cycles", stalls.share)
    return stalls


def random_stalls(share: float, seed: int | list[int]) -> np.ndarray:
    """A pattern that stalls in a `share` of all cycles, from 0 to under 1, by chance."""
    if not 0 <= share < 1:
        raise RTLError(f"The share of stalled cycles is from 0 to under 1, not {share}.")
    return (np.random.default_rng(seed).random(PERIOD) < share).astype(np.uint8)


def pattern(stalls: Stalls | Mapping[str, Sequence[int]] | None, stream: str) -> np.ndarray:
    """The pattern of one stream, as bytes; empty where it never stalls.

    Raises RTLError for other values than 0 and 1, or where no cycle is free.
    """
    if isinstance(stalls, Stalls):
        return stalls.pattern(stream)
    values = arguments.bits(f"The stall of {stream}", (stalls or {}).get(stream, ()))
    if values.size and values.all():
        raise RTLError(f"The stalls of {stream} leave no cycle free: no word could ever move.")
    return values
