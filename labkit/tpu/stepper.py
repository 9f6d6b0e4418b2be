"""`Stepper(run)`: one's own matrices going through the array, cycle by cycle, in the notebook.

The page is labkit/tpu/stepper.html with the run's trace in it, in a frame of its own: no kernel, no
server and no other file. So it works in JupyterLab, on Colab and in a saved page, offline, and
keys pressed in it are not taken by the notebook.
"""

import json
from importlib.resources import files

import numpy as np

from labkit.figures.arrays import activity, numbering
from labkit.tpu.dataflow import Cycle
from labkit.tpu.systolic import Run

NAMES = {"ws": "weight stationary", "is": "input stationary", "os": "output stationary"}
STREAMS = {"ws": ("a", "psum"), "is": ("b", "psum"), "os": ("a", "b")}  # empty without a number
LETTERS = {"computing": "#", "passing": "~", "loading": "+", "idle": "."}
FRAME = (
    "<iframe title='{title}' sandbox='allow-scripts' srcdoc='{page}' style='display: block; width: "
    "100%; max-width: 1100px; height: {height}px; border: 0; border-radius: 8px'>"
    "Run this cell, and you can step through the array here.</iframe>"  # shown where frames are not
)


class Stepper:
    """A run with its trace, to be stepped by mouse and by keyboard; lesson 1 uses it.

    Cycles and letters are those of `labkit.figures.arrays`: cycle 0 is the first in which a number
    enters at the left, and the product is y = a w. Raises ValueError for what is no run with a
    trace.
    """

    def __init__(self, run: Run, title: str = "") -> None:
        if not isinstance(run, Run) or not run.trace:
            raise ValueError("Stepper: this is no run with a trace: call matmul(..., trace=True).")
        name = NAMES[run.dataflow] + ", double-buffered" * run.double_buffer
        name = f"{run.rows} × {run.cols} processing elements, {name}"
        self.run, self.title = run, str(title or name)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        page = files("labkit.tpu").joinpath("stepper.html").read_text("utf-8")
        trace = json.dumps(self._page(), ensure_ascii=False, separators=(",", ":"))
        page = page.replace("{{TRACE}}", trace.replace("<", "\\u003c"))
        look = {"title": _quoted(self.title), "page": _quoted(page), "height": self._height()}
        return {"text/html": FRAME.format(**look), "text/plain": str(self)}

    def __repr__(self) -> str:
        """The busiest cycle as letters: where there is no browser."""
        numbers = numbering(self.run)
        cycles = dict(zip(numbers, self.run.trace, strict=True))
        t = max(cycles, key=lambda t: np.count_nonzero(cycles[t].active))
        lines = [" ".join(LETTERS[kind] for kind in row) for row in activity(cycles[t]).tolist()]
        key = ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items())
        where = f"cycle {t} of {numbers[0]} to {numbers[-1]}, {cycles[t].phase}; {key}"
        return "\n".join([self.title, repr(self.run), where, *lines])

    def _page(self) -> dict:
        """What the page is told: the run, and every cycle as lists in row-major order."""
        run = self.run
        about = repr(run)
        if run.drain:
            about += f", and {run.drain} cycles to drain"
        return {
            "title": self.title,
            "about": about,
            "rows": run.rows,
            "columns": run.cols,
            "dataflow": run.dataflow,
            "shape": self._shape(),
            "tiles": run.tiles,
            "below": self._below(),
            "float": run.result.dtype.kind == "f",
            "spare": run.double_buffer,
            "first": numbering(run)[0],
            "cycles": [self._cycle(cycle) for cycle in run.trace],
        }

    def _cycle(self, cycle: Cycle) -> dict:
        told = {"phase": cycle.phase, "tile": cycle.tile}
        told["kinds"] = "".join(LETTERS[kind] for kind in activity(cycle).flat)
        told["load"] = "".join(".+"[at] for at in cycle.loading.ravel().astype(int))
        told["out"] = [[j, int(r), int(c), _number(v)] for j, (r, c, v) in cycle.leaves.items()]
        flows = (cycle.active | cycle.passing).ravel()
        for name in ("a", "b", "psum", *["spare"] * self.run.double_buffer):
            there = flows if name in STREAMS[self.run.dataflow] else np.ones_like(flows)
            values = zip(getattr(cycle, name).flat, there, strict=True)
            told[name] = [_number(value) if holds else None for value, holds in values]
        for name, lanes in (("left", self.run.rows), ("top", self.run.cols)):
            edge = getattr(cycle, name)
            told[name] = [_number(edge[lane]) if lane in edge else None for lane in range(lanes)]
        return told

    def _height(self) -> int:
        """Of the frame, which cannot ask for room once it is there."""
        run, dense = self.run, self.run.cols > 8
        element = (48 if dense else 64) + 15 * run.double_buffer
        array = element * run.rows + 2 * 24 * min(4, max(run.rows, run.cols))
        results = 25 * min(8, self._shape()[0])
        below = max(250, results + 80)
        return 190 + (array + below if self._below() else max(array, results + 320))

    def _shape(self) -> tuple[int, int]:
        """Of y; the result of a convolution [N,K,P,Q] is that of [N·P·Q, C·R·S] [C·R·S, K]."""
        columns = self.run.result.shape[1]
        return self.run.result.size // columns, columns

    def _below(self) -> bool:
        """Is there too little room for the legend and the result beside the array?"""
        return self.run.cols > 5


def _number(value: np.number) -> int | float:
    """float32 with just the digits that tell it from its neighbours."""
    return int(value) if isinstance(value, np.integer) else float(str(value))


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace("'", "&#39;")
