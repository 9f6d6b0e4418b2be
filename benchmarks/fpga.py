"""How long a simulation, synthesis, place and route, and a proof of a module take: `make bench`.

    python benchmarks/fpga.py

Each is asked for without the cache, after one answer that warms the tools up: their first use on a
machine translates them for its processor. Seconds only inform; they go to results/fpga.json.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

from table import Row, medians, report

DESIGNS = Path(__file__).resolve().parent.parent / "tests" / "fpga" / "designs"
TIMES = 3


def rows() -> Iterator[Row]:
    """Medians of three answers each, of a multiply-accumulate module of four lanes."""
    from labkit.fpga.prove import prove
    from labkit.fpga.synthesize import synthesize
    from labkit.fpga.timing import place_and_route

    design = DESIGNS / "multiply_add.sv"
    for engine in ("cxxrtl", "verilator"):
        (seconds,) = medians(edited(design, engine), times=TIMES)
        yield Row(f"edit to result, {engine}: multiply_add, 4 lanes", seconds, goal=5)
    goals = {  # seconds
        "synthesize, XC7Z020": (synthesize, 15),
        "place_and_route, ECP5": (place_and_route, 10),
        "prove, 20 cycles and induction": (prove, 5),
    }
    for what, (tool, goal) in goals.items():
        tool(design, "multiply_add")
        (seconds,) = medians(anew(tool, design), times=TIMES)
        yield Row(f"{what}: multiply_add, 4 lanes", seconds, goal=goal)


def edited(design: Path, engine: str) -> Callable[[], object]:
    """A call of `simulate` on a source that no cache knows, as after an edit of the learner's."""
    from labkit.fpga import simulate

    text = design.read_text()
    edits = count()

    def ask() -> object:
        source = f"{text}\n// edit {next(edits)} of {os.getpid()}\n"
        return simulate(source, "multiply_add", {"in": list(range(100))}, engine)

    return ask


def anew(tool: Callable, design: Path) -> Callable[[], object]:
    """A call of `tool` that finds an empty cache."""

    def ask() -> object:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LABKIT_CACHE"] = folder
            return tool(design, "multiply_add")

    return ask


if __name__ == "__main__":
    sys.exit(report("fpga", rows()))
