"""Gradient compression: fewer bytes in each step, and what is not sent is kept for the next one.

    compressors = for_model(net, lambda: TopK(0.01))        # one for each weight
    model = DataParallel(net, compressors=compressors)      # and then as without them

With gradient g_t and error e_t, which begins as 0, each rank sends a short form of g_t + e_t and
keeps the rest (error feedback):

    sent_t    = decompress(compress(g_t + e_t))
    e_(t+1)   = g_t + e_t - sent_t          so that nothing is lost, and all that is late comes

For a gradient of S bytes in m rows and k columns, the bytes that each of n ranks sends:

    none            2 (n - 1) / n S
    HalfPrecision   2 (n - 1) / n S / 2                    all-reduce: half of it
    TopK(share)     (n - 1) 2 share S                      all-gather: it grows with n
    LowRank(r)      2 (n - 1) / n S r (m + k) / (m k)      two all-reduces

Lesson fewer_bytes.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from labkit.distributed.collectives import all_gather, ring_all_reduce
from labkit.distributed.network import transport
from labkit.errors import whole

if TYPE_CHECKING:
    import torch

HALF_MOST = 65_504.0  # the largest number in half precision


class Compressor:
    """Averages one weight's gradient over the ranks; this one sends all of it.

    feedback   whether the error is kept and sent later
    error      what this rank has not sent so far, in the gradient's shape; None before the first
    """

    def __init__(self, feedback: bool = True) -> None:
        self.feedback = feedback
        self.error: torch.Tensor | None = None

    def average(self, gradient: "torch.Tensor") -> "torch.Tensor":
        """The mean over all ranks of what they send of their gradients; all ranks call it.

        Raises ValueError for a gradient of another shape than the one before.
        """
        wanted = gradient.clone()
        if self.error is not None:
            if self.error.shape != gradient.shape:
                raise ValueError(
                    f"A compressor keeps the error of one weight, of shape "
                    f"{list(self.error.shape)}; this gradient is {list(gradient.shape)}."
                )
            wanted += self.error
        mean, sent = self._averaged(wanted)
        if self.feedback:
            self.error = wanted - sent
        return mean

    def _averaged(self, wanted: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        """The mean of what all ranks sent, and what this one did."""
        return _mean(wanted), wanted


class HalfPrecision(Compressor):
    """Two bytes for each number instead of four; the sum around the ring is in them, too.

    What is sent is g / n, so that no sum is beyond the largest half, and g is limited to it.
    """

    def compress(self, wanted: "torch.Tensor") -> "torch.Tensor":
        """float32 -> float16, divided by the number of ranks."""
        return (wanted.clamp(-HALF_MOST, HALF_MOST) / _ranks()).half()

    def decompress(self, payload: "torch.Tensor") -> "torch.Tensor":
        """float16 -> float32, times the number of ranks."""
        return payload.float() * _ranks()

    def _averaged(self, wanted: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        payload = self.compress(wanted)
        return ring_all_reduce(payload).float(), self.decompress(payload)


class TopK(Compressor):
    """The k numbers of largest magnitude, each with its place.

    share   of the numbers that are sent, above 0 and up to 1: k = share * numbers, rounded up

    Each rank chooses other places, so that the pairs are gathered: a sum along a ring would have
    up to n k of them.
    """

    def __init__(self, share: float, feedback: bool = True) -> None:
        super().__init__(feedback)
        if not 0 < share <= 1:
            raise ValueError(f"TopK: share is above 0 and at most 1, not {share!r}.")
        self.share = share

    def compress(self, wanted: "torch.Tensor") -> "torch.Tensor":
        """float32 -> int32[2, k]: the bits of the values, then their places in the flat gradient.

        Of equal magnitudes any may be taken.
        """
        import torch

        flat = wanted.flatten()
        k = math.ceil(self.share * flat.numel())
        places = flat.abs().topk(k).indices
        return torch.stack([flat[places].view(torch.int32), places.int()])

    def decompress(self, payload: "torch.Tensor", like: "torch.Tensor") -> "torch.Tensor":
        """The values at their places in the shape of `like`; 0 everywhere else."""
        import torch

        values, places = payload
        flat = like.new_zeros(like.numel())
        flat[places.long()] = values.view(torch.float32)
        return flat.view(like.shape)

    def _averaged(self, wanted: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        payload = self.compress(wanted)
        total = wanted.new_zeros(wanted.shape)
        for other in all_gather(payload):
            total += self.decompress(other, wanted)
        return total / _ranks(), self.decompress(payload, wanted)


class LowRank(Compressor):
    """A product of two thin matrices (PowerSGD, Vogels et al. 2019, arXiv:1905.13727).

    For the gradient as a matrix M[m, k], with Q[k, r] from the step before:

        P = mean of M Q              all-reduce of m r numbers; then P's columns made orthonormal
        Q = mean of M^T P            all-reduce of k r numbers
        P Q^T                        the mean gradient, as far as r columns can tell it

    This rank has sent P P^T M. Q begins as random numbers that are equal in all ranks, and each
    step begins where the last one ended (warm start). What would not become smaller, such as a
    bias, is sent whole.
    """

    def __init__(self, rank: int, feedback: bool = True) -> None:
        super().__init__(feedback)
        self.rank = whole("LowRank: rank", rank)
        self.q: torch.Tensor | None = None

    def pays(self, shape: tuple[int, ...]) -> bool:
        """Whether the two thin matrices have fewer numbers than the gradient."""
        rows, columns = shape[0] if shape else 1, math.prod(shape[1:])
        return self.rank * (rows + columns) < rows * columns

    def compress(self, matrix: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        """M[m, k] -> P[m, r], equal in all ranks, and this rank's M^T P [k, r]."""
        import torch

        if self.q is None:
            numbers = torch.Generator().manual_seed(0)
            self.q = torch.randn(matrix.shape[1], self.rank, generator=numbers).to(matrix)
        p = torch.linalg.qr(_mean(matrix @ self.q)).Q
        return p, matrix.T @ p

    def decompress(self, p: "torch.Tensor", q: "torch.Tensor") -> "torch.Tensor":
        """P[m, r] Q[k, r]^T."""
        return p @ q.T

    def _averaged(self, wanted: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
        if not self.pays(tuple(wanted.shape)):
            return super()._averaged(wanted)
        p, q = self.compress(wanted.reshape(len(wanted), -1))
        self.q = _mean(q)
        mean = self.decompress(p, self.q)
        return mean.view(wanted.shape), self.decompress(p, q).view(wanted.shape)


def for_model(model: "torch.nn.Module", make: Callable[[], Compressor]) -> dict[str, Compressor]:
    """A compressor of its own for each weight that learns, by its name."""
    learns = [name for name, weight in model.named_parameters() if weight.requires_grad]
    return {name: make() for name in learns}


def _mean(tensor: "torch.Tensor") -> "torch.Tensor":
    return ring_all_reduce(tensor) / _ranks()


def _ranks() -> int:
    return transport().place()[1]
