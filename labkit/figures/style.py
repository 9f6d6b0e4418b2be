"""One style for every figure of the course, and the one way to show it.

The background is an opaque, nearly white card, so a figure reads the same wherever it is shown. The
palette steps in lightness as well as in hue, and every series also differs in marker or
label, so it survives greyscale and colour blindness. Matplotlib loads with the first figure.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    Artist = Axes = Figure = object  # for annotations: Matplotlib loads with the first figure

CARD = "#fbfbfa"
INK = "#22272e"  # text and axes
QUIET = "#8a929c"  # grid, secondary marks
PALE = "#d5dae0"  # fills behind text
BLUE = "#1f5f99"  # the main series
ORANGE = "#e0851b"  # the series set against it
SKY = "#9cc4e4"  # a light companion of BLUE

_STYLE = {
    "figure.facecolor": CARD,
    "savefig.facecolor": CARD,
    "axes.facecolor": CARD,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": QUIET,
    "axes.grid": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "font.family": "DejaVu Sans",  # ships with matplotlib: equal letters everywhere
    "font.size": 10,
}


def canvas(
    width: float = 7.5, height: float = 3.2, rows: int = 1, columns: int = 1, **options: object
) -> tuple[Figure, object]:
    """A figure of `width` x `height` inches in the course's style, and its axes.

    Returns `(figure, axes)`: one Axes, or an array of them for several rows or columns. `options`
    are those of a grid, for example `width_ratios=[2, 1]`.
    """
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=(width, height), layout="constrained")
        options = {"gridspec_kw": options} if options else {}
        return figure, figure.subplots(rows, columns, **options)


def show(figure: Figure, alt: str, photographs: bool = False) -> None:
    """Display `figure` with the alt text `alt`; outside a notebook, print the alt text.

    In a dark theme JupyterLab shows it with dark and light exchanged
    (labkit/course/jupyter/custom), but not `photographs`.

    The alt text is also the plain-text form of the output: a screen reader, a terminal and the
    notebook tests all read the same sentence. It says what the picture shows.

    Raises ValueError for an alt text of fewer than five words.
    """
    if len(alt.split()) < 5:
        raise ValueError(f"The alt text {alt!r} says too little: describe what the picture shows.")
    if not in_notebook():
        print(alt)
        return
    from IPython.display import display

    data = {"image/png": base64.b64encode(png(figure)).decode(), "text/plain": alt}
    metadata = {"image/png": {"alt": alt}}
    if photographs:
        metadata["needs_background"] = "light"
    display(data, raw=True, metadata=metadata)


def png(figure: Figure) -> bytes:
    """The figure as PNG, without the writer's version, so that equal figures are equal bytes."""
    buffer = io.BytesIO()
    with _style():
        figure.savefig(buffer, format="png", dpi=110, metadata={"Software": None})
    return buffer.getvalue()


def save_figure(figure: Figure, path: str) -> None:
    """Writes the figure to a file, in the format of its ending: .png, .svg, .pdf."""
    with _style():
        figure.savefig(path, dpi=110)


@contextmanager
def _style() -> Iterator[None]:
    """The course's style on matplotlib's own defaults, whatever the reader's matplotlibrc says."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def in_notebook() -> bool:
    """Is this running in a notebook, or in a terminal or a test?"""
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel")
