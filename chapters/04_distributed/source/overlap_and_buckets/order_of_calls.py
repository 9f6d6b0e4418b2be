"""A backward and an all-reduce that only write down in which order they are called.

    calls = Calls(mine, others, buckets, order)
    result = overlapped(calls.backward(), buckets, calls.start)
    calls.fault                 # what in this order costs time, or None
    calls.lost                  # what is said of a bucket that never left, or None

Whether messages overlap with a backward needs no clock: a bucket has to be started before the
backward goes on, and nobody may wait while gradients are still to come. Buckets leave in their
order, on every rank the same. Lesson overlap_and_buckets.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from labkit.checks.items import Refused


class Handle:
    """A bucket on its way: `wait()` gives the means over the two pretended ranks."""

    def __init__(self, calls: "Calls", bucket: Sequence[int]) -> None:
        self._calls = calls
        self._bucket = bucket

    def wait(self) -> list[np.ndarray]:
        """The mean of each gradient, in the bucket's order."""
        self._calls.note_wait(self._bucket)
        return [self._calls.mean(place) for place in self._bucket]


class Calls:
    """One step of one rank, and the first fault in the order of its calls.

    mine     [P, d]: the gradients of this rank, one row for each weight, in the model's order
    others   [P, d]: those of a second rank
    buckets  places of weights, the last ones first
    order    [P]: the places in the order in which the gradients become ready
    earlier  gradients of steps that came before, in any shape
    """

    def __init__(
        self,
        mine: np.ndarray,
        others: np.ndarray,
        buckets: Sequence[Sequence[int]],
        order: Sequence[int],
        earlier: Sequence[np.ndarray] = (),
    ) -> None:
        self.mine = mine
        self._earlier = list(earlier)
        self.others = others
        self.buckets = buckets
        self.order = [int(place) for place in order]
        self.fault: str | None = None
        self._ready: list[int] = []
        self._started: list[list[int]] = []

    def mean(self, place: int) -> np.ndarray:
        """Of one gradient over both ranks."""
        return (self.mine[place] + self.others[place]) / 2

    def backward(self) -> Iterator[tuple[int, np.ndarray]]:
        """(place, gradient) in their order; each is computed when it is asked for."""
        for place in self.order:
            self._note_next(place)
            self._ready.append(place)
            yield place, self.mine[place]

    def start(self, gradients: Sequence[np.ndarray]) -> Handle:
        """Begins the all-reduce of one bucket."""
        if not isinstance(gradients, list | tuple):
            raise Refused("`start` takes a list of gradients: those of one bucket.")
        places = [self._place_of(gradient) for gradient in gradients]
        number = len(self._started)
        if number >= len(self.buckets):
            raise Refused(
                f"`start` is called {number + 1} times, for {number} buckets: the gradients of a "
                "bucket travel together, in one list."
            )
        later = [list(bucket) for bucket in self.buckets[number + 1 :]]
        if places in later:
            raise Refused(
                f"Message {number} is bucket {number + 1 + later.index(places)}, {places}, but the "
                f"other ranks start bucket {number}, {list(self.buckets[number])}, first: a bucket "
                "that is full earlier waits for its turn."
            )
        if places != list(self.buckets[number]):
            raise Refused(
                f"Message {number} has the gradients {places}, but bucket {number} is "
                f"{list(self.buckets[number])}, which the other ranks send."
            )
        self._started.append(places)
        return Handle(self, places)

    @property
    def begun(self) -> bool:
        """Whether `start` was called at all."""
        return bool(self._started)

    @property
    def lost(self) -> str | None:
        """What is said of the first bucket that was not started by the end of the step."""
        number = len(self._started)
        if number == len(self.buckets):
            return None
        said = f"Bucket {number}, {list(self.buckets[number])}, is never started."
        return " ".join([said, *self._several()])

    def _several(self) -> Iterator[str]:
        """The first gradient with which more than one bucket can leave, if there is one."""
        turn = {place: number for number, place in enumerate(self.order)}
        complete = [max(turn[place] for place in bucket) for bucket in self.buckets]
        leaves = np.maximum.accumulate(complete)  # a bucket also waits for the ones before it
        for number in np.flatnonzero(np.diff(leaves) == 0)[:1]:
            pair = " and ".join(str(list(one)) for one in self.buckets[number : number + 2])
            yield (
                f"When gradient {self.order[leaves[number]]} comes, the buckets {pair} can leave: "
                "after each start, ask whether the next one is full, too."
            )

    def note_wait(self, bucket: Sequence[int]) -> None:
        """Somebody waits: nothing may still be to come."""
        left = len(self.mine) - len(self._ready)
        if left:
            self._note(
                f"wait() is called for the bucket {list(bucket)} while backward still has "
                f"{left} of {len(self.mine)} gradients to compute: it stands still until the sum "
                "has come."
            )

    def _note_next(self, place: int) -> None:
        """Backward goes on: if the bucket whose turn it is is full, it has to be on its way."""
        for bucket in self.buckets[len(self._started) :][:1]:
            if set(bucket) <= set(self._ready):
                self._note(
                    f"The bucket {list(bucket)} is full, but backward goes on to gradient {place} "
                    "before `start` is called: meanwhile nothing travels."
                )

    def _note(self, sentence: str) -> None:
        self.fault = self.fault or sentence

    def _place_of(self, gradient: object) -> int:
        for place in self._ready:
            if isinstance(gradient, np.ndarray) and np.array_equal(gradient, self.mine[place]):
                return place
        if any(gradient is one or np.array_equal(gradient, one) for one in self._earlier):
            raise Refused(
                "`start` was given a gradient of an earlier step: something is kept from one step "
                "to the next, outside the function or in the default of a parameter."
            )
        raise Refused(
            "`start` was given something that is no gradient of `backward`: hand on the "
            "gradients as they are."
        )
