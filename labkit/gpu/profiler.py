"""`profile(kernel, grid, block, *args)`: one launch on the SIMT machine, counted line by line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from html import escape
from inspect import getsourcelines
from linecache import getline
from textwrap import fill
from typing import Any

from labkit.gpu.counters import COUNTERS, derive
from labkit.provenance import Quantity, counted

BY = "the SIMT machine"
_WIDTH = 100
_COLUMNS: dict[str, Callable[[Mapping], float]] = {
    "requests": lambda n: n["global_load_requests"] + n["global_store_requests"],
    "sectors": lambda n: n["global_load_sectors"] + n["global_store_sectors"],
    "per req": lambda n: _COLUMNS["sectors"](n) / max(1, _COLUMNS["requests"](n)),
    "shared": lambda n: n["shared_load_transactions"] + n["shared_store_transactions"],
    "conflicts": lambda n: n["bank_conflicts"],
    "atomic": lambda n: n["atomic_lanes"],
    "splits": lambda n: n["divergent_branches"],
    "FLOP": lambda n: n["flops"],
    "active": lambda n: n["active_lane_ratio"],
}


def profile(
    kernel: Any, grid: Any, block: Any, *args: Any, shared: int = 0, steps: int | None = None
) -> "Profile":
    """Launch `kernel[grid, block, 0, shared](*args)` on the SIMT machine: a Profile.

    So do kernels of numba.cuda run there; their device arrays are copied to the host and back.
    The arrays in `args` hold the kernel's results afterwards; if it had to be stopped, they are
    untouched. `steps`: at most so many instructions in loops, instead of the usual limit.
    Raises what a launch raises for arguments that do not fit, TypeError for no kernel.
    """
    from labkit.gpu.simt.dispatcher import DeviceFunction, Kernel

    if not hasattr(kernel, "py_func"):
        kind = type(kernel).__name__
        raise TypeError(
            f"profile(kernel, blocks, threads, *arguments) was given a {kind} as kernel: write a "
            "function under @cuda.jit, and blocks and threads as the next two arguments."
        )
    kernel = kernel if isinstance(kernel, DeviceFunction) else Kernel(kernel.py_func)
    far = [type(a).__module__.startswith("numba") and hasattr(a, "copy_to_host") for a in args]
    near = [a.copy_to_host() if is_far else a for a, is_far in zip(args, far, strict=True)]
    outcome = kernel[grid, block, 0, shared].run(*near, watch=True, steps=steps)
    for array, result in zip(args, near, strict=True):
        if array is not result and outcome.completed:
            array.copy_to_device(result)
    return _profile(kernel.py_func, outcome)


def _profile(function: Callable, outcome: object) -> "Profile":
    counts = {place: derive(n) for place, n in outcome.by_line.items()}
    file, (lines, first) = function.__code__.co_filename, getsourcelines(function)
    own = [(file, first + i) for i in range(len(lines))]
    places = own + sorted(set(counts) - set(own))
    return Profile(
        function.__name__,
        tuple((place[1], getline(*place).rstrip(), counts.get(place, {})) for place in places),
        derive(outcome.counters),
        {line: n for (where, line), n in counts.items() if where == file},
        sorted(outcome.hazards, key=_rank),
        outcome.accesses,
        outcome.completed,
    )


def _rank(hazard: Any) -> int:
    """Errors before notes; races first, the wider the sooner: its cure may cure the others."""
    order = ["grid", "block", "warp", "error", "note"]
    return order.index(hazard.scope if hazard.kind == "race" else hazard.severity)


@dataclass(frozen=True, repr=False)
class Profile:
    """What one launch cost, and what is wrong with it. Every number is counted, exactly."""

    name: str
    source: tuple  # (line number, text, counters) of the kernel, then of other device functions
    counters: Mapping[str, float]  # of the whole launch, derived ones included
    by_line: Mapping[int, Mapping[str, float]]  # of lines in the kernel's file that executed
    hazards: list  # errors first, then notes; `str` of each is a sentence
    accesses: tuple  # single memory instructions of single warps, for labkit.gpu.pictures
    completed: bool  # False if the kernel had to be stopped; then no array was changed

    def quantity(self, name: str) -> Quantity:
        """The counter `name` with its unit and provenance; ValueError if there is none."""
        if name not in self.counters:
            near = get_close_matches(name, self.counters, 3, 0) or sorted(self.counters)
            raise ValueError(f"There is no counter {name!r}. Near it: {', '.join(near)}.")
        return counted(self.counters[name], COUNTERS[name].unit, BY)

    def __repr__(self) -> str:
        texts, columns = self._table()
        widths = [2 + max(map(len, [heading, *numbers])) for heading, numbers, _ in columns]
        room = min(max(len(text) for _, text in texts), _WIDTH - 6 - sum(widths))
        cells = ([heading, *numbers] for heading, numbers, _ in columns)
        lines = [f"{self.name}: counted by {BY}"]
        for (label, text), *row in zip([("", ""), *texts], *cells, strict=True):
            row = "".join(f"{n:>{w}}" for n, w in zip(row, widths, strict=True)).rstrip()
            if len(text) > room and row:  # too long to have its numbers beside it
                lines.append(f"{label:>4}  {text}"[:_WIDTH])
                label = text = ""
            lines.append(f"{label:>4}  {text:<{room}}{row}".rstrip()[:_WIDTH])
        said = [fill(sentence, _WIDTH, subsequent_indent="  ") for sentence in self._sentences()]
        return "\n".join([*lines, "", *said])

    def _repr_html_(self) -> str:
        texts, columns = self._table()
        body = "".join(_cell(escape(heading)) for heading in ["", "", *(c[0] for c in columns)])
        for i, (label, text) in enumerate(texts):
            code = f'<code style="white-space: pre-wrap; background: none">{escape(text)}</code>'
            body += f"</tr><tr>{_cell(label)}{_cell(code, align='left')}"
            body += "".join(_cell(numbers[i], shares[i]) for _, numbers, shares in columns)
        said = "".join(f"<div>{escape(sentence)}</div>" for sentence in self._sentences())
        table = f'<table style="color: inherit; margin: 0.4em 0"><tr>{body}</tr></table>'
        return f"<div><b>{escape(self.name)}</b>: counted by {BY}</div>{table}{said}"

    def _table(self) -> tuple[list[tuple[str, str]], list[tuple[str, list[str], list[float]]]]:
        """Label and text of each row; heading, numbers and shares of each column in use."""
        rows = [(str(line), text, n) for line, text, n in self.source]
        rows.append(("", "all lines", self.counters))
        columns = []
        for heading, value in _COLUMNS.items():
            values = [value(n) if n else 0 for *_, n in rows]
            numbers, peak = [_number(heading, v) for v in values], max(values[:-1])
            if any(numbers):
                columns.append((heading, numbers, [*(v / (peak or 1) for v in values[:-1]), 0]))
        return [row[:2] for row in rows], columns

    def _sentences(self) -> list[str]:
        n, said = self.counters, []
        if n["traffic_bytes"]:
            asked, sectors = f"{n['global_bytes']:,} B", f"{n['traffic_bytes']:,} B"
            once = f"{n['compulsory_bytes']:,} B if each is counted once"
            said.append(f"Global memory: {asked} asked for, {sectors} in sectors, {once}.")
        if n["flops"]:
            said.append(f"Arithmetic: {n['flops']:,} FLOP, {n['arithmetic_intensity']:.3g} FLOP/B.")
        said += ["The kernel was stopped: no array was changed."] * (not self.completed)
        return said + [h.sentence for h in self.hazards] + ["No hazard found."] * (not self.hazards)


def _number(heading: str, value: float) -> str:
    if heading == "active":  # only where lanes are idle
        return f"{100 * value:.3g} %" if 0 < value < 1 else ""
    if not value or value >= 1e6:
        return f"{value / 1e6:.4g} M" if value else ""
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def _cell(html: str, share: float = 0, align: str = "right") -> str:
    """A table cell; behind a number a bar, `share` of the width, that suits white and black."""
    bar = f"linear-gradient(to left, rgba(61, 139, 212, 0.28) {share:.0%}, transparent 0)"
    style = f"white-space: nowrap; padding: 0 0.5em; background: {bar if html else 'none'}"
    return f'<td style="text-align: {align}; {style}">{html}</td>'
