"""A report from no GPU, for tests of what is made of reports."""

from labkit.gpu.report.folder import SCHEMA
from labkit.gpu.report.runner import SECTIONS
from labkit.provenance import counted, measured, predicted

GPU = "NVIDIA H200"


def row(what, numbers=(), ok=None, says="", lesson="", state="done"):
    """A row as in report.json."""
    found = {}
    for name, number in dict(numbers).items():
        parts = ("value", "unit", "word", "source")
        found[name] = {part: getattr(number, part) for part in parts}
    made = {"what": what, "state": state, "numbers": found, "ok": ok, "says": says}
    return made | ({"lesson": lesson} if lesson else {})


def section(*rows, state="done", why=""):
    """A section as in report.json."""
    return {"state": state, "why": why, "seconds": 3.0, "rows": [*rows]}


def made_up(dry=False, gpu=GPU, **more):
    """A whole report: a few rows in each section. `more`: sections in the place of these."""
    on = [] if dry else [gpu]

    def here(value, unit):
        return {"worst error": measured(value, unit, gpu)} if on else {}

    sections = {name: section(row(name)) for name in SECTIONS}
    checked = {"checked": counted(10, "cases", "comparing with float64")}
    sections["results"] = section(
        row("gpu.relu_kernel", here(12, "% of what is allowed") | checked, True, "right"),
        row("gpu.block_sum", state="not here", says="no GPU"),
    )
    sections["hazards"] = section(row("race"), state="died", why="code -6")
    if on:
        bound = predicted(12.5, "%", "two passes for a multiply-add")
        sections["lessons"] = section(
            row(
                "the arithmetic that tiles alone leave",
                {"of the peak": measured(15, "%", gpu), "at most, in the lesson": bound},
                False,
                "the bound is passed: 1.20 times it",
                "tiles",
            ),
            row(
                "estimate of naive",
                {"of the peak": measured(8, "%", gpu), "estimate": bound},
                None,
                "the estimate is 1.6 times too high",
                "what_limits_a_kernel",
            ),
        )
    return {
        "schema": SCHEMA,
        "dry": dry,
        "date": "2026-11-28",
        "gpu": {"name": gpu, "driver": "580"} if on else {},
        "system": "linux 6.1, x86_64",
        "versions": {"Python": "3.12.3", "triton": None},
        "tools": {"ncu": "2025.3", "nvcc": None},
        "seconds": 300.0,
        "sections": sections | more,
    }
