"""`synthesize(source, top)`: how much of the XC7Z020, the FPGA of the Pynq boards, a module takes.

Yosys's `synth_xilinx -family xc7` turns the module into the cells of that family. They are counted,
not placed: no frequency follows from it. Lesson a_multiply_accumulate_array reads the reports.
"""

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from labkit.fpga import arguments
from labkit.fpga.convnet import budget
from labkit.fpga.errors import RTLError
from labkit.fpga.sources import Source, Sources, read_sources
from labkit.fpga.toolchain import multipliers
from labkit.fpga.toolchain.cached import cached, text_of
from labkit.fpga.toolchain.lint import lint
from labkit.fpga.toolchain.multipliers import Multipliers
from labkit.fpga.toolchain.tools import without_patch
from labkit.fpga.toolchain.yosys import on_a_copy, read_commands, run_yosys, yosys_version
from labkit.provenance import Quantity, compiled

# Flat, so that copies of an instance count each; without pads, because the module is a part of a
# larger design.
_SYNTHESIS = "synth_xilinx -family xc7 -flatten -noiopad -noclkbuf"
# Of the vendor's cells, those that a 7-series FPGA has. `synth_xilinx` itself would also read those
# of all other families, which takes longer than the synthesis of a small module.
_CELLS = "read_verilog -lib -specify +/xilinx/cells_sim.v"
# To map memories Yosys reads libraries, which takes longer than all other steps of a small module
# together: a module that has none goes without that step, and one that has some is refused.
_MAPPED = [f"{_SYNTHESIS} -run coarse:"]
_NO_MEMORIES = ["select -assert-none t:$mem*"]
_HAS_MEMORIES = "selection is not empty: t:$mem*"
_MAPPED_WITHOUT = [
    f"{_SYNTHESIS} -run coarse:map_memory",
    *_NO_MEMORIES,
    f"{_SYNTHESIS} -run map_ffram:",
]
_LATCH = re.compile(r"Latch inferred for signal `(?P<signal>\S+)' from .*?`(?P<at>\S+)'")
_DRIVERS = re.compile(r"Warning: multiple conflicting drivers for (?P<signal>\S+):")
_PLACE = re.compile(r"(?P<file>[\w-]+\.s?v):(?P<line>\d+)")


@dataclass(frozen=True)
class Synthesis:
    """What a module takes on the XC7Z020. All numbers are compiled, none is measured.

    lut     look-up tables: as logic (each LUT1 to LUT6 and inverter as one: those that could share
            a table are not joined, so that Vivado may need fewer), as RAM, and as shift registers
    ff      flip-flops in slices; those within DSPs and block RAMs are not counted
    dsp     DSP48E1
    bram36  block RAMs of 36 Kbit; one of 18 Kbit is half
    cells   all cells of the netlist by their type, carry chains and wide multiplexers included
    multipliers   what became of the multiplications
    """

    top: str
    lut: Quantity
    ff: Quantity
    dsp: Quantity
    bram36: Quantity
    multipliers: Multipliers
    cells: dict[str, int] = field(repr=False)

    def share(self, resource: str) -> float:
        """The part of the XC7Z020's `resource` that is taken: "lut", "ff", "dsp" or "bram36".

        1.0 is all of it. Raises ValueError for another resource.
        """
        return float(self._taken(resource)) / float(budget.available(resource))

    @property
    def fits(self) -> bool:
        """Whether the XC7Z020 has enough of everything."""
        return all(self.share(resource) <= 1 for resource in budget.RESOURCES)

    def budget(self) -> None:
        """Draws what is taken beside what there is."""
        budget.bars({self.top: self})

    def _taken(self, resource: str) -> Quantity:
        budget.available(resource)  # raises for an unknown one
        return getattr(self, resource)


def synthesize(
    source: Source,
    top: str,
    parameters: dict[str, int] | None = None,
    multiply_adds_per_cycle: float | None = None,
) -> Synthesis:
    """The cells of the module `top` on the XC7Z020, by Yosys.

    source       text or files, as `read_sources` takes them
    parameters   of the top module
    multiply_adds_per_cycle   what a simulation of the same module counted; then a report is only
                              given if the module still has as many multipliers

    The answer is kept in the cache by a hash of sources, parameters, Yosys's version and our
    script. Raises RTLError, with file and line, for what cannot become gates: what Yosys refuses,
    a latch, two drivers of one signal; and for multipliers that were optimised away.
    """
    parameters = arguments.parameters(parameters)
    if multiply_adds_per_cycle is not None:
        arguments.real("multiply_adds_per_cycle", multiply_adds_per_cycle)
    sources = read_sources(source, top)
    script = _script(sources, parameters)
    depends_on = [sources.digest, sources.names, script, yosys_version(), text_of(__file__)]

    def run() -> dict:
        lint(sources, parameters)
        try:
            return _run(sources, _script(sources, parameters, memories=False))
        except RTLError as error:
            if _HAS_MEMORIES not in str(error):
                raise
        return _run(sources, script)

    netlists = cached("synthesis", depends_on, run)
    report = _report(top, netlists)
    if multiply_adds_per_cycle is not None:
        multipliers.refuse(report.multipliers, multiply_adds_per_cycle)
    return report


def _script(
    sources: Sources, parameters: dict[str, int] | None, memories: bool = True
) -> list[str]:
    """Yosys's commands. They write three netlists, the first two of copies.

    memories  False: without the step that maps memories; a module that has one is refused, as
              early as it is seen

    written   the multipliers as the source has them
    left      those after DSPs were chosen. Memories are optimised too, and more is tried than in
              synthesis, so that what a later step could remove is not counted
    final     all cells at the end
    """
    refused = [] if memories else _NO_MEMORIES
    return [
        *read_commands(sources, parameters),
        *on_a_copy(["proc -noopt", "flatten", *refused, *_write("written", "t:$mul")]),
        _CELLS,
        f"hierarchy -check -top {sources.top}",
        f"{_SYNTHESIS} -run prepare:coarse",
        *on_a_copy(["memory -nomap", "opt -full", *_write("left", "t:$mul t:DSP48E1 %u")]),
        *(_MAPPED if memories else _MAPPED_WITHOUT),
        *_write("final", "t:* t:$scopeinfo %d"),  # where an instance stood, which is no cell
    ]


def _write(name: str, selection: str) -> list[str]:
    return [f"select {selection}", f"write_json -selected {name}.json", "select -clear"]


def _run(sources: Sources, script: list[str]) -> dict:
    """The netlists of the script, as {cell: description}; of the last one how many of each type."""
    with sources.laid_out() as folder:
        _refuse(run_yosys(script, folder, sources), sources)
        written = _cells(folder / "written.json")
        left = _cells(folder / "left.json")
        final = _cells(folder / "final.json")
    counts = Counter(cell["type"] for cell in final.values())
    return {"written": written, "left": left, "cells": dict(sorted(counts.items()))}


def _cells(path: Path) -> dict:
    """The cells in a netlist of one module; no module stands in it where nothing was selected."""
    found = {}
    for module in json.loads(path.read_text("utf-8"))["modules"].values():
        for name, cell in module["cells"].items():
            found[name] = {key: cell[key] for key in ("type", "attributes", "connections")}
    return found


def _refuse(output: str, sources: Sources) -> None:
    """Raises RTLError for what no FPGA should hold; Yosys lets some of it pass with a warning."""
    for line in output.splitlines():
        latch = _LATCH.search(line)
        if latch and not line.startswith("No latch"):
            raise _latch(latch, sources)
    if drivers := _DRIVERS.search(output):
        signal = drivers["signal"].replace("\\", "")
        raise RTLError(
            f"{signal} has several drivers: assign each signal in one block only, or by one "
            "`assign`."
        )


def _latch(match: re.Match, sources: Sources) -> RTLError:
    signal = match["signal"].replace("\\", "")
    place = _PLACE.search(match["at"])
    where = f"{place['file']}, line {place['line']}" if place else sources.top
    return RTLError(
        f"{where}: {signal} would become a latch, because some branch leaves it without a value. "
        "Give it a value at the top of the block, or in every branch.",
        int(place["line"]) if place else None,
    )


def _report(top: str, netlists: dict) -> Synthesis:
    cells = netlists["cells"]
    budget.refuse_unknown(cells)
    by = f"Yosys {without_patch(yosys_version())} for the {budget.device_name()}"
    taken = {
        resource: compiled(budget.taken(resource, cells), unit, by)
        for resource, unit in budget.RESOURCES.items()
    }
    found = multipliers.from_netlists(netlists["written"], netlists["left"])
    return Synthesis(top, multipliers=found, cells=cells, **taken)
