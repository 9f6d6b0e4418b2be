"""The reducer: gradients go into buckets as they become ready, and full buckets travel at once.

`DataParallel` calls it: `ready` in each weight's hook during the backward, `finish` after it.
Buckets leave in their order, on every rank the same, even where a later one is full earlier: the
ranks' all-reduces have to meet. Lesson overlap_and_buckets.
"""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


class Handle(Protocol):
    """An all-reduce on its way."""

    def wait(self) -> "torch.Tensor":
        """The sum over all ranks."""


class Carrier(Protocol):
    """What carries all-reduces in the background, in the order of their submission."""

    def submit(self, tensor: "torch.Tensor") -> Handle:
        """Returns at once; the tensor may be overwritten."""

    def close(self) -> None:
        """Ends what was started for it."""


class Bucket:
    """Gradients that travel as one flat tensor.

    weights   by name, in the order in which they lie in the tensor; all of one dtype and device
    """

    def __init__(self, weights: "dict[str, torch.Tensor]") -> None:
        first = next(iter(weights.values()))
        self.weights = weights
        self.flat = first.new_zeros(sum(w.numel() for w in weights.values()), requires_grad=False)
        self.places = self._parts(self.flat)
        self.missing = set(weights)
        self.handle: Handle | None = None

    def put(self, name: str, divisor: float) -> None:
        """Writes the gradient of this weight / divisor to its place.

        Raises ValueError for a sparse one.
        """
        import torch

        gradient = self.weights[name].grad.detach()
        if gradient.is_sparse:
            raise ValueError(
                f"The gradient of {name} is sparse, and a bucket is dense: make its layer with "
                "sparse=False."
            )
        torch.div(gradient, divisor, out=self.places[name])
        self.missing.remove(name)

    def take(self, divisor: float) -> None:
        """Waits for the sum; the gradients become views of sum / divisor. The bucket is empty.

        Views save a copy, as `gradient_as_bucket_view=True` does in torch's: a gradient that is
        kept beyond the next step is overwritten by it.
        """
        total = self.handle.wait()
        if divisor != 1:
            total /= divisor
        for name, part in self._parts(total).items():
            self.weights[name].grad = part
        self.missing = set(self.weights)
        self.handle = None

    def _parts(self, flat: "torch.Tensor") -> "dict[str, torch.Tensor]":
        """Views of a flat tensor, by the weights' names and shaped as they are."""
        sizes = [weight.numel() for weight in self.weights.values()]
        parts = zip(self.weights.items(), flat.split(sizes), strict=True)
        return {name: part.view(weight.shape) for (name, weight), part in parts}


class Reducer:
    """All buckets of a model, and how far this step has come.

    divisor   of the sums. Gradients are divided before they travel: sums of float16 stay small.
              None: divided afterwards, by the number of ranks that took part, which needs the roll
    roll      if not None, a tensor with a 1 at this rank's place, 0 elsewhere: its all-reduce goes
              before each step's first bucket, and says which ranks take part (see `joining`)
    """

    def __init__(self, buckets: list[Bucket], carrier: Carrier, divisor: float) -> None:
        self.buckets = buckets
        self.carrier = carrier
        self.divisor: float | None = divisor
        self.home = {name: bucket for bucket in buckets for name in bucket.weights}
        self.sent = 0  # buckets of this step
        self.roll: torch.Tensor | None = None
        self.last_roll: torch.Tensor | None = None  # of the last step: 1 for each rank in it
        self._roll_call: Handle | None = None

    @property
    def begun(self) -> bool:
        """Whether gradients of this step are in the buckets, so that `finish` has to come."""
        return any(len(bucket.missing) < len(bucket.weights) for bucket in self.buckets)

    def ready(self, name: str) -> None:
        """Takes a gradient, and sends the buckets whose turn it is.

        Raises RuntimeError for a second gradient of the same weight in one step.
        """
        bucket = self.home[name]
        if name not in bucket.missing:
            raise RuntimeError(
                f"The gradient of {name} is ready for the second time in one step. To accumulate "
                "over several backwards, run all but the last within `no_sync()`."
            )
        bucket.put(name, self.divisor or 1)
        while self.sent < len(self.buckets) and not self.buckets[self.sent].missing:
            self._send()

    def finish(self) -> None:
        """Waits for all buckets; each gradient becomes the sum over all ranks / divisor.

        Raises RuntimeError where gradients are missing, with the names of their weights.
        """
        self._refuse_missing()
        if self._roll_call is not None:
            self.last_roll = self._roll_call.wait()
            self._roll_call = None
        left = 1.0 if self.divisor else float(self.last_roll.sum())
        for bucket in self.buckets:
            bucket.take(left)
        self.sent = 0

    def _send(self) -> None:
        if self.sent == 0 and self.roll is not None:
            self._roll_call = self.carrier.submit(self.roll.clone())
        bucket = self.buckets[self.sent]
        bucket.handle = self.carrier.submit(bucket.flat)
        self.sent += 1

    def _refuse_missing(self) -> None:
        if not self.begun:
            raise RuntimeError(
                "finish() finds no gradients: call it once after each backward() outside of "
                "`no_sync()`."
            )
        missing = [name for bucket in self.buckets for name in bucket.weights]
        missing = [name for name in missing if name in self.home[name].missing]
        if missing:
            raise RuntimeError(
                f"The loss does not depend on {listed(missing)}: no gradient became ready, and "
                "the other ranks would wait for it without end. Use these weights in every step, "
                "or set requires_grad=False on all ranks before DataParallel is made."
            )


def listed(names: list[str], most: int = 5) -> str:
    """Names in a sentence: the first ones, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
