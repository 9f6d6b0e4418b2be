"""The alpha-beta model: what a message costs, a collective, and a program that is part serial.

    model = CostModel.fit([(1_000, 2.1e-4), (1_000_000, 1.2e-3), ...])     # bytes, seconds
    model.predict("ring_all_reduce", ranks=4, bytes=64 << 20)              # seconds

A message of b bytes takes latency + b / bandwidth; a rank sends one message at a time and receives
one at a time, as on `emulated_link`. Adding up numbers costs nothing. Lesson the_ring.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CostModel:
    """A network: seconds before a message's first byte, and bytes per second from then on.

    An infinite bandwidth is a link on which only the latency counts. Raises ValueError for a
    latency below 0, a bandwidth that is not above 0, and what is no number.
    """

    latency: float
    bandwidth: float

    def __post_init__(self) -> None:
        if not _is_number(self.latency) or not 0 <= self.latency < math.inf:
            raise ValueError(f"CostModel: latency is 0 seconds or more, not {self.latency!r}.")
        if not _is_number(self.bandwidth) or not self.bandwidth > 0:
            raise ValueError(
                f"CostModel: bandwidth is above 0 bytes per second, not {self.bandwidth!r}."
            )

    @classmethod
    def fit(cls, pings: Iterable[tuple[float, float]]) -> CostModel:
        """The model with the least squares of relative errors, for messages (bytes, seconds).

        Relative, since the small messages tell the latency and the large ones the bandwidth. A
        latency below 0 cannot be, and becomes 0. Raises ValueError where fewer than two sizes
        are there, a size is below 0 or a time not above 0, or larger messages were not slower.
        """
        rows = np.array(list(pings), dtype=float).reshape(-1, 2)
        sizes, seconds = rows.T
        sound = np.isfinite(rows).all() and (sizes >= 0).all() and (seconds > 0).all()
        if len(set(sizes)) < 2 or not sound:
            raise ValueError(
                "CostModel.fit takes pairs (bytes, seconds) of two sizes or more, with bytes from "
                f"0 on and seconds above 0; this is {rows.tolist()}."
            )
        terms = np.stack([np.ones_like(sizes), sizes], axis=1) / seconds[:, None]
        latency, per_byte = np.linalg.lstsq(terms, np.ones_like(sizes), rcond=None)[0]
        if latency < 0:
            x = sizes / seconds
            latency, per_byte = 0.0, x.sum() / (x @ x)
        if not per_byte > 0:
            raise ValueError(
                "CostModel.fit: the larger messages took no longer than the small ones, so there "
                "is no bandwidth to find. Take larger messages."
            )
        return cls(float(latency), float(1 / per_byte))

    def message(self, bytes: float) -> float:
        """Seconds of one message: latency + bytes / bandwidth."""
        return self.latency + bytes / self.bandwidth

    def predict(self, name: str, ranks: int, bytes: float) -> float:
        """Seconds of one of `COLLECTIVES`, for a tensor of so many bytes in each rank.

        Raises ValueError for another name, and where ranks or bytes cannot be.
        """
        if name not in COLLECTIVES:
            raise ValueError(f"No cost of {name!r} is known: take one of {', '.join(COLLECTIVES)}.")
        whole = _is_number(ranks) and 1 <= ranks < math.inf and ranks == int(ranks)
        if not whole or not _is_number(bytes) or not 0 <= bytes < math.inf:
            raise ValueError(
                f"Ranks is a whole number from 1 on and bytes a number from 0 on, not {ranks!r} "
                f"and {bytes!r}."
            )
        return COLLECTIVES[name](self, int(ranks), bytes)


def gather_all_reduce(model: CostModel, ranks: int, bytes: float) -> float:
    """2 (n - 1) (latency + S / bandwidth): all messages, one after the other, at rank 0."""
    return 2 * (ranks - 1) * model.message(bytes)


def tree_all_reduce(model: CostModel, ranks: int, bytes: float) -> float:
    """2 log2(n) (latency + S / bandwidth), the logarithm rounded up: down the tree, and up."""
    return 2 * broadcast(model, ranks, bytes)


def ring_all_reduce(model: CostModel, ranks: int, bytes: float) -> float:
    """2 (n - 1) (latency + S / (n bandwidth)): many messages, but each only one chunk."""
    return 2 * reduce_scatter(model, ranks, bytes)


def halving_all_reduce(model: CostModel, ranks: int, bytes: float) -> float:
    """2 log2(n) latency + 2 (n - 1) / n S / bandwidth, where n is a power of two.

    Otherwise that of the largest power of two below n, and 2 (latency + S / bandwidth).
    """
    steps = ranks.bit_length() - 1
    most = 1 << steps
    extra = 2 * model.message(bytes) if ranks > most else 0.0
    return 2 * steps * model.latency + 2 * (most - 1) / most * bytes / model.bandwidth + extra


def broadcast(model: CostModel, ranks: int, bytes: float) -> float:
    """log2(n) (latency + S / bandwidth), the logarithm rounded up; also the cost of `reduce`."""
    return (ranks - 1).bit_length() * model.message(bytes)


def reduce_scatter(model: CostModel, ranks: int, bytes: float) -> float:
    """(n - 1) (latency + S / (n bandwidth))"""
    return (ranks - 1) * model.message(bytes / ranks)


def all_gather(model: CostModel, ranks: int, bytes: float) -> float:
    """(n - 1) (latency + S / bandwidth), where S is what each rank brings."""
    return (ranks - 1) * model.message(bytes)


COLLECTIVES: dict[str, Callable[[CostModel, int, float], float]] = {
    "gather_all_reduce": gather_all_reduce,
    "tree_all_reduce": tree_all_reduce,
    "ring_all_reduce": ring_all_reduce,
    "halving_all_reduce": halving_all_reduce,
    "broadcast": broadcast,
    "reduce": broadcast,
    "reduce_scatter": reduce_scatter,
    "all_gather": all_gather,
}


def _is_number(value: object) -> bool:
    """Whether it can be compared with a number: of Python's or NumPy's, and no truth value."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)
