"""Pictures of this lesson: what one entry of a gradient adds up, how exact a nudge is, a tape."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.figures.grids import Grid, show_grids
from labkit.figures.shapes import note
from labkit.figures.style import BLUE, ORANGE, SKY, canvas, show
from labkit.figures.tables import table


def weight_sum(dy: np.ndarray, x: np.ndarray, k: int, d: int) -> None:
    """dw[k, d] of dy[N,K] and x[N,D]: column k of dy times column d of x, added up."""
    dw = dy.T @ x
    of_dy = np.s_[:, k : k + 1]
    of_x = np.s_[:, d : d + 1]
    show_grids(
        f"dw[{k}, {d}] = {_sum(dy[:, k], x[:, d])} = {dw[k, d]:g}: over the images",
        f"dy {[*dy.shape]}, x {[*x.shape]} and dw {[*dw.shape]}. Column {k} of dy and column {d} "
        f"of x are shaded; their products add up to dw[{k}, {d}] = {dw[k, d]:g}.",
        Grid("dy [N, K]", dy, of_dy, SKY),
        Grid("x [N, D]", x, of_x, SKY),
        Grid("dw [K, D]", dw, np.s_[k : k + 1, d : d + 1], ORANGE),
    )


def input_sum(dy: np.ndarray, w: np.ndarray, n: int, d: int) -> None:
    """dx[n, d] of dy[N,K] and w[K,D]: row n of dy times column d of w, added up."""
    dx = dy @ w
    of_dy = np.s_[n : n + 1, :]
    of_w = np.s_[:, d : d + 1]
    show_grids(
        f"dx[{n}, {d}] = {_sum(dy[n], w[:, d])} = {dx[n, d]:g}: over the outputs",
        f"dy {[*dy.shape]}, w {[*w.shape]} and dx {[*dx.shape]}. Row {n} of dy and column {d} of "
        f"w are shaded; their products add up to dx[{n}, {d}] = {dx[n, d]:g}.",
        Grid("dy [N, K]", dy, of_dy, SKY),
        Grid("w [K, D]", w, of_w, SKY),
        Grid("dx [N, D]", dx, np.s_[n : n + 1, d : d + 1], ORANGE),
    )


def digits_by_nudge(nudges: Sequence[float], digits: Sequence[float]) -> None:
    """How many digits of a slope are right with each nudge; the best one is marked."""
    best = int(np.argmax(digits))
    figure, axes = canvas(7.5, 3.0)
    axes.semilogx(nudges, digits, "o-", color=BLUE)
    axes.plot(nudges[best], digits[best], "D", color=ORANGE, markersize=9)
    said = f"{digits[best]:.1f} digits"
    note(axes, said, (nudges[best], digits[best]), (0, 9), ha="center")
    axes.set_ylim(0, max(digits) + 2)
    axes.set_xlabel("nudge")
    axes.set_ylabel("right digits of the slope")
    show(
        figure,
        f"Right digits of a slope against the nudge. They rise from {digits[-1]:.1f} at "
        f"{nudges[-1]:.0e} to {digits[best]:.1f} at {nudges[best]:.0e}, and fall again to "
        f"{digits[0]:.1f} at {nudges[0]:.0e}.",
    )


def table_of_tape(tape: Sequence, gradient: Sequence[float]) -> None:
    """The rows of a tape, each with .operation, .value and .slopes, and the gradient of each."""
    rows = []
    for place, row in enumerate(tape):
        slopes = [f"{slope:g} for v{i}" for i, slope in row.slopes]
        said = ", ".join(slopes) or None
        rows.append([f"v{place}", row.operation, row.value, said, gradient[place]])
    table(["row", "operation", "value", "slopes", "gradient"], rows)


def _sum(left: np.ndarray, right: np.ndarray) -> str:
    """The products as they are written in a sum: '0.5·3 + (-1)·(-1)'."""
    products = [f"{_factor(one)}·{_factor(other)}" for one, other in zip(left, right, strict=True)]
    return " + ".join(products)


def _factor(number: float) -> str:
    return f"{number:g}" if number >= 0 else f"({number:g})"
