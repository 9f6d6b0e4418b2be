"""Pictures of lesson what_stays_in_float32: a variance, Adam's v, and losses in number formats.

Dense: a call draws one line, with all of its look.
"""

from collections.abc import Mapping, Sequence

from labkit.figures import canvas, show
from labkit.figures.shapes import LINES

MARKS = (  # of different sizes: two of the lines lie on each other
    {"marker": "o", "markersize": 5},
    {"marker": "^", "markersize": 10, "fillstyle": "none"},
    {"marker": "s", "markersize": 3},
)


def variances(ratios: Sequence[float], found: Mapping[str, Sequence[float]]) -> None:
    """found[way], the variance / the true one, for each ratio of mean and standard deviation."""
    figure, axes = canvas(7.5, 2.8)
    for (name, values), look, mark in zip(found.items(), LINES, MARKS, strict=False):
        colour, style = look
        axes.plot(ratios, values, style, color=colour, label=name, **mark)
    axes.set_xscale("log", base=2)
    axes.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
    axes.set(xlabel="mean / standard deviation", ylabel="variance / true one")
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    said = "; ".join(f"{name}: {', '.join(f'{v:.2f}' for v in vs)}" for name, vs in found.items())
    places = ", ".join(f"{ratio:g}" for ratio in ratios)
    show(figure, f"Variance / true one where mean / deviation is {places}. {said}.")


def over_steps(values: Mapping[str, Sequence[float]], what: str, digits: int) -> None:
    """values[way] after each step, with the last of each in the key."""
    figure, axes = canvas(7.5, 2.8)
    for (name, found), (colour, style) in zip(values.items(), LINES, strict=False):
        label = f"{name}: {found[-1]:.{digits}f}"
        axes.plot(found, style, color=colour, label=label)
    axes.set(xlabel="step", ylabel=what)
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    ends = ", ".join(f"{name} {found[-1]:.{digits}f}" for name, found in values.items())
    steps = len(next(iter(values.values())))
    show(figure, f"{what} over {steps:,} steps. At the end: {ends}.")
