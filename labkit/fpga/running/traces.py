"""A trace: the value of each port, and of what else was watched, in each clock cycle.

Values are those that the rising edge at the cycle's end meets: inputs of this cycle, and all logic
settled. A long run keeps its last cycles only, so that memory stays bounded.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from labkit.fpga.errors import RTLError
from labkit.fpga.integers.packing import from_limbs, words_of_32
from labkit.fpga.ports import Port

MOST_BYTES = 64 * 2**20


class Trace(Mapping):
    """Signal -> its values in the cycles `first` to `first + len(values) - 1`.

    Values are read as `packing.from_limbs` says: signed ports as two's complement.
    """

    def __init__(self, signals: list[Port], limbs: np.ndarray, first: int) -> None:
        self.signals = {signal.name: signal for signal in signals}
        self.first = first
        self._limbs = limbs  # [cycles, limbs of all signals]
        ends = np.cumsum([words_of_32(signal) for signal in signals])
        self._end = dict(zip(self.signals, ends.tolist(), strict=True))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.signals:
            raise RTLError(f"{name!r} is not in the trace, which has {', '.join(self.signals)}.")
        signal, end = self.signals[name], self._end[name]
        return from_limbs(self._limbs[:, end - words_of_32(signal) : end], signal)

    def __contains__(self, name: object) -> bool:
        return name in self.signals

    def __iter__(self) -> Iterator[str]:
        return iter(self.signals)

    def __len__(self) -> int:
        return len(self.signals)

    @property
    def cycles(self) -> int:
        """How many cycles it holds."""
        return len(self._limbs)

    def __eq__(self, other: object) -> bool:
        """Equal: the same signals with the same values in the same cycles."""
        if not isinstance(other, Trace):
            return NotImplemented
        same = self.signals == other.signals and self.first == other.first
        return same and np.array_equal(self._limbs, other._limbs)

    __hash__ = None

    def first_difference(self, other: "Trace") -> tuple[int, str] | None:
        """The first cycle in which the two differ, and the first such signal; None: nowhere."""
        found = []
        for place, name in enumerate(self):
            shared = min(self.cycles, other.cycles)
            apart = np.flatnonzero(self[name][:shared] != other[name][:shared])
            if apart.size:
                found.append((self.first + int(apart[0]), place, name))
        if not found:
            return None
        cycle, _, name = min(found)
        return cycle, name


def rows_that_fit(signals: list[Port]) -> int:
    """How many cycles of these signals a trace holds in `MOST_BYTES`."""
    width = 4 * sum(words_of_32(signal) for signal in signals)
    return MOST_BYTES // width if width else 0
