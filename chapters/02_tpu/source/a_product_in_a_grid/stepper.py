"""`Stepper(run)`: one's own matrices going through the array, cycle by cycle, in the notebook.

The page is stepper.html with the run's trace in it, in a frame of its own: no kernel, no
server and no other file. So it works in JupyterLab, on Colab and in a saved page, offline, and
keys pressed in it are not taken by the notebook.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from labkit.tpu.matrix_unit.grid import Cycle
from labkit.tpu.matrix_unit.pictures import activity, numbering
from labkit.tpu.matrix_unit.systolic import Run

PAGE = Path(__file__).with_name("stepper.html")
NAMES = {"ws": "weight stationary", "is": "input stationary", "os": "output stationary"}
STREAMS = {
    "ws": ("a", "psum"),
    "is": ("b", "psum"),
    "os": ("a", "b"),
}  # empty without a number
LETTERS = {"computing": "#", "passing": "~", "loading": "+", "idle": "."}
FRAME = (
    "<iframe title='{title}' sandbox='allow-scripts' srcdoc='{page}' style='display: block; width: "
    "100%; max-width: 1100px; height: {height}px; border: 0; border-radius: 8px'>"
    "Run this cell, and you can step through the array here.</iframe>"  # shown where frames are not
)


class Stepper:
    """A run with its trace, to be stepped by mouse and by keyboard.

    Cycles and letters are those of pictures.py: cycle 0 is the first in which a number
    enters at the left, and the product is y = a w. Raises ValueError for what is no run with a
    trace.
    """

    def __init__(self, run: Run, title: str = "") -> None:
        if not isinstance(run, Run) or not run.trace:
            raise ValueError("Stepper: this is no run with a trace: call matmul(..., trace=True).")
        name = NAMES[run.dataflow]
        if run.double_buffer:
            name += ", double-buffered"
        self.run = run
        self.title = str(title or f"{run.rows} × {run.cols} processing elements, {name}")

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        page = PAGE.read_text("utf-8")
        trace = json.dumps(self._page(), ensure_ascii=False, separators=(",", ":"))
        page = page.replace("{{TRACE}}", trace.replace("<", "\\u003c"))
        html = FRAME.format(title=_quoted(self.title), page=_quoted(page), height=self._height())
        return {"text/html": html, "text/plain": str(self)}

    def __repr__(self) -> str:
        """The busiest cycle as letters: where there is no browser."""
        numbers = numbering(self.run)
        busiest = max(self.run.trace, key=lambda cycle: np.count_nonzero(cycle.active))
        t = numbers[self.run.trace.index(busiest)]
        rows = [_letters(row) for row in activity(busiest).tolist()]
        grid = [" ".join(letters) for letters in rows]
        key = ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items())
        where = f"cycle {t} of {numbers[0]} to {numbers[-1]}, {busiest.phase}; {key}"
        return "\n".join([self.title, repr(self.run), where, *grid])

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
        """One cycle: registers [rows * cols], edges [rows] and [cols], None for no number."""
        told = {
            "phase": cycle.phase,
            "tile": cycle.tile,
            "kinds": _letters(activity(cycle).flat),
            "load": "".join("+" if takes_in else "." for takes_in in cycle.loading.flat),
            "out": [[c, i, j, _number(n)] for c, (i, j, n) in cycle.leaves.items()],
            "a": self._register(cycle, "a"),
            "b": self._register(cycle, "b"),
            "psum": self._register(cycle, "psum"),
        }
        if self.run.double_buffer:
            told["spare"] = self._register(cycle, "spare")
        told["left"] = _edge(cycle.left, self.run.rows)
        told["top"] = _edge(cycle.top, self.run.cols)
        return told

    def _register(self, cycle: Cycle, name: str) -> list[int | float | None]:
        """What a register holds in each element; one that numbers pass through may hold none."""
        values = [_number(value) for value in getattr(cycle, name).flat]
        if name not in STREAMS[self.run.dataflow]:
            return values
        passes = (cycle.active | cycle.passing).flat
        return [value if there else None for value, there in zip(values, passes, strict=True)]

    def _height(self) -> int:
        """Of the frame in pixels; it cannot ask for room once it is there."""
        run = self.run
        element = 48 if run.cols > 8 else 64
        if run.double_buffer:
            element += 15
        array = element * run.rows + 2 * 24 * min(4, max(run.rows, run.cols))
        results = 25 * min(8, self._shape()[0])
        if self._below():
            return 190 + array + max(250, results + 80)
        return 190 + max(array, results + 320)

    def _shape(self) -> tuple[int, int]:
        """Of y; the result of a convolution [N,K,P,Q] is that of [N·P·Q, C·R·S] [C·R·S, K]."""
        columns = self.run.result.shape[1]
        return self.run.result.size // columns, columns

    def _below(self) -> bool:
        """Is there too little room for the legend and the result beside the array?"""
        return self.run.cols > 5


def _letters(kinds: Iterable[str]) -> str:
    return "".join(LETTERS[kind] for kind in kinds)


def _edge(entered: dict[int, np.number], lanes: int) -> list[int | float | None]:
    """What entered at each lane of an edge, None where nothing did."""
    return [_number(entered[lane]) if lane in entered else None for lane in range(lanes)]


def _number(value: np.number) -> int | float:
    """float32 with just the digits that tell it from its neighbours."""
    return int(value) if isinstance(value, np.integer) else float(str(value))


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace("'", "&#39;")
