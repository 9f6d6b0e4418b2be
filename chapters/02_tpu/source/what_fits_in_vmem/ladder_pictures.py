"""The picture of three lower bounds for each choice of blocks, in lesson what_fits_in_vmem.

Dense: a call draws one shape, and its arguments are places.
"""

from collections.abc import Sequence

from labkit.figures.style import BLUE, INK, ORANGE, SKY, canvas, show

SERIES = (("bundles", BLUE, 1), ("matrix units", SKY, 2), ("HBM", ORANGE, 3))


def ladder(rows: Sequence[Sequence], library: int) -> None:
    """Rows of (blocks, cycles by bundles, by matrix units, by HBM, ...), and XLA's estimate."""
    figure, axes = canvas(7.2, 3.6)
    for place, (name, colour, column) in enumerate(SERIES):
        left = [number + 0.27 * (place - 1) for number in range(len(rows))]
        axes.bar(left, [row[column] for row in rows], 0.25, color=colour, label=name)
    axes.axhline(library, color=INK, linewidth=1, linestyle="--", label="XLA's estimate of its own")
    axes.set_yscale("log")
    axes.set_ylabel("cycles, at least")
    names = [row[0].strip("()").replace(", ", " x ") for row in rows]
    axes.set_xticks(range(len(rows)), names, fontsize=8)
    axes.set_xlabel("blocks: bm x bk x bn")
    axes.legend(frameon=False, fontsize=8)
    parts = [f"{row[0]}: {row[1]:,}, {row[2]:,} and {row[3]:,}" for row in rows]
    alt = (
        "For each choice of blocks, the least cycles by bundles, by the matrix units and by HBM, "
        f"on a logarithmic axis. {'; '.join(parts)}. XLA's estimate of its own: {library:,}."
    )
    show(figure, alt)
