"""The rows of `make bench-gpu` with their goals, read from goals.toml; the table of results."""

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).resolve().parent.parent / "results"
SECTIONS = tomllib.loads(Path(__file__).with_name("goals.toml").read_text("utf-8"))
GOALS_FOR = "H200"  # on another GPU the goals are shown, but nothing fails


class Row(NamedTuple):
    """One number: `goal` is the least that it may be, of differences the most; `aim` the wish."""

    section: str
    what: str
    unit: str
    goal: float | None = None
    aim: float | None = None

    def reached(self, value: float) -> bool:
        if self.goal is None:
            return True
        return value <= self.goal if self.unit == "differences" else value >= self.goal

    def __str__(self) -> str:
        aim = "" if self.aim is None else f" (aim {self.aim:g})"
        return self.unit if self.goal is None else f"{self.goal:g}{aim} {self.unit}"


ROWS = {
    f"{section}: {what}": Row(section, what, about["unit"], *limits)
    for section, about in SECTIONS.items()
    for what, limits in about["rows"].items()
}


def results(folder: Path = RESULTS) -> list[dict]:
    """What was measured, one dict per GPU."""
    found = (json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("gpu_*.json")))
    return [result for result in found if "gpu" in result]


def table(measured: list[dict]) -> str:
    """The Markdown of results/gpu.md: every row, with a column for each GPU."""
    gpus = " | ".join(result["gpu"] for result in measured) or "a GPU"
    lines = [
        "# Kernels on a GPU",
        "",
        f"Written by `make bench-gpu`. Goals are for an NVIDIA {GOALS_FOR}. Fresh random inputs,",
        "the L2 cache flushed, outputs checked before and again after the repeats, medians, all",
        "sides in one run. What was not run is marked so.",
    ]
    for result in measured:
        how = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
        lines += ["", f"{result['gpu']}: measured on {', '.join(result['dates'])} with {how}."]
    for section, about in SECTIONS.items():
        lines += ["", f"## {section}", "", about["about"], ""]
        lines += [f"| | goal | {gpus} |", "|---" * (2 + max(1, len(measured))) + "|"]
        for name, row in ROWS.items():
            if row.section == section:
                cells = [_cell(name, row, result) for result in measured] or ["not measured"]
                lines.append(f"| {row.what} | {row} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(name: str, row: Row, result: dict) -> str:
    entry = result["rows"].get(name, {"not measured": ""})
    if "value" not in entry:
        return next(iter(entry))  # "failed", or "not measured"
    missed = "" if row.reached(entry["value"]) else " (missed)"
    return f"{entry['value']:.3g}{missed}; {entry['detail']}"
