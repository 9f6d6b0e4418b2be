"""Is a gradient right? Nudge every input a little both ways and see how the output moves.

    dL/dx[i]  ~  ( L(x + eps e_i) - L(x - eps e_i) ) / (2 eps),      L = sum_o f(x)[o] dy[o]

The error of this central difference is of order eps^2, where a one-sided difference has order eps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class GradcheckResult:
    """What `gradcheck` found, at the entry that fits worst. `bool(result)` is `result.ok`."""

    ok: bool
    worst_input: int  # which of the inputs
    worst_index: tuple[int, ...]  # where in that input
    got: float  # the gradient that was handed in
    expected: float  # the central difference
    error: float  # |got - expected|
    entries: int  # how many entries were compared

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        if not self.entries:
            return "Nothing was compared: no input has an entry with a gradient."
        where = f"input {self.worst_input} at index {self.worst_index}"
        numbers = f"got {self.got:.6g}, central differences give {self.expected:.6g}"
        if self.ok:
            return f"All {self.entries} gradient entries agree. The worst is {where}: {numbers}."
        return f"The gradient of {where} is wrong: {numbers} (difference {self.error:.2g})."


def gradcheck(
    f: Callable,
    inputs: Sequence,
    grads: Sequence,
    dy: object = None,
    eps: float = 1e-6,
    rtol: float = 1e-5,
    atol: float = 1e-7,
) -> GradcheckResult:
    """Compare analytic gradients with central differences, entry by entry.

    f       function of the inputs that returns a float64 array or a number
    inputs  arrays of any shape, read as float64; `f` only ever sees copies of them
    grads   for each input dL/d(input), of its shape; None leaves an input out
    dy      weights of the outputs in L = sum(f * dy), of the output's shape; ones without it
    eps     the nudge

    An entry is right when |got - expected| <= atol + rtol |expected|; NaN is wrong. At a kink of
    `f` (relu at 0, a tie in maxpool) the difference is the mean of two slopes: choose inputs away
    from kinks. A gradient or a dy whose shape does not fit raises ValueError, and so does an `f`
    that returns float32.
    """
    inputs = [np.array(x, dtype=np.float64) for x in inputs]
    if len(grads) != len(inputs):
        both = f"{len(inputs)} inputs but {len(grads)} gradients"
        raise ValueError(f"gradcheck: {both}: one is needed for each.")
    worst_score = 0.0  # error / allowed: right when at most 1
    worst = GradcheckResult(True, -1, (), got=0.0, expected=0.0, error=0.0, entries=0)
    entries = 0
    for i, (x, grad) in enumerate(zip(inputs, grads, strict=True)):
        if grad is None:
            continue
        grad = np.asarray(grad, dtype=np.float64)
        if grad.shape != x.shape:
            both = f"input {i} has shape {x.shape} but its gradient has {grad.shape}"
            raise ValueError(f"gradcheck: {both}: both must be equal.")
        for index in np.ndindex(x.shape):
            got = float(grad[index])
            expected = _central_difference(f, inputs, i, index, dy, eps)
            error = abs(got - expected)
            allowed = atol + rtol * abs(expected)
            score = error / max(allowed, 1e-300)  # never divided by 0
            if np.isnan(score):
                score = np.inf
            if entries == 0 or score > worst_score:
                worst_score = score
                worst = GradcheckResult(score <= 1, i, index, got, expected, error, entries=0)
            entries += 1
    return replace(worst, entries=entries)


def _central_difference(
    f: Callable, inputs: list, i: int, index: tuple, dy: object, eps: float
) -> float:
    """dL / d inputs[i][index] of L = sum(f * dy)."""
    above = _moved(f, inputs, i, index, +eps)
    below = _moved(f, inputs, i, index, -eps)
    dy = np.ones(above.shape) if dy is None else np.asarray(dy, dtype=np.float64)
    if dy.shape != above.shape:
        both = f"f returned shape {above.shape} but dy has {dy.shape}"
        raise ValueError(f"gradcheck: {both}: both must be equal.")
    # Subtract before summing: entries that the nudge leaves alone then cancel exactly.
    return float(np.sum((above - below) * dy) / (2 * eps))


def _moved(f: Callable, inputs: list, i: int, index: tuple, nudge: float) -> np.ndarray:
    """f of copies of the inputs, with inputs[i][index] moved by `nudge`."""
    copies = [x.copy() for x in inputs]
    copies[i][index] += nudge
    y = np.asarray(f(*copies))
    if y.dtype.kind == "f" and y.dtype.itemsize < 8:
        why = f"f returned {y.dtype}, too coarse for a nudge of {abs(nudge):g}"
        raise ValueError(f"gradcheck: {why}: compute in float64.")
    return y
