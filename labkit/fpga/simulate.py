"""`simulate(source, top, inputs)`: SystemVerilog compiled, clocked, and what came out of it.

    run = simulate(source, "accumulate", {"x": [1, 2, 3]})
    run.outputs["y"], run.times["y"], run.cycles, run.trace["x_ready"]

Lesson a_multiply_accumulate_array writes the first such module.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.fpga import arguments
from labkit.fpga.errors import DoesNotEnd, RTLError
from labkit.fpga.integers.packing import from_limbs, words_of_32
from labkit.fpga.ports import CLOCK
from labkit.fpga.running import runs
from labkit.fpga.running.jobs import Plan
from labkit.fpga.running.stalls import Stalls
from labkit.fpga.running.traces import Trace
from labkit.fpga.running.vcd import place_of_vcd, write_vcd
from labkit.fpga.sources import Source, read_sources
from labkit.fpga.toolchain.models import compiled
from labkit.fpga.toolchain.tools import prompt
from labkit.provenance import Quantity, counted

_ENDS = ("_valid", "_data")  # the port of each kind of violation, and what it does
_KINDS = ("falls", "changes")


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """What a design did. Everything is counted, nothing is measured.

    outputs      stream -> the words handed over; other output port -> its value in each cycle
    times        stream -> the cycle in which each word was handed over
    lasts        stream with a `last` -> that bit of each word
    cycles       clock cycles after the reset: up to the last word moved, or as many as asked for
    trace        the value of each port in each cycle; empty with trace=False
    violations   where the design withdrew or changed a word that it had offered, in sentences
    withdrawn    the cycle and the port of each violation
    """

    top: str
    engine: str
    cycles: Quantity
    outputs: dict[str, np.ndarray]
    times: dict[str, np.ndarray]
    lasts: dict[str, np.ndarray]
    trace: Trace
    violations: list[str]
    withdrawn: list[tuple[int, str]]

    def __repr__(self) -> str:
        moved = [f"{len(times)} words from {name}" for name, times in self.times.items()]
        wrong = [f"{len(self.violations)} violations of valid/ready"] * bool(self.violations)
        counts = ", ".join([self.cycles.number, *moved, *wrong])
        return f"{self.top} in {self.engine}: {counts} (counted)"


def simulate(
    source: Source,
    top: str,
    inputs: Mapping[str, object],
    engine: str = "cxxrtl",
    *,
    parameters: Mapping[str, int] | None = None,
    words: int | Mapping[str, int] | None = None,
    cycles: int | None = None,
    stalls: Stalls | Mapping[str, Sequence[int]] | None = None,
    limit: int = 1_000_000,
    vcd: str | Path | None = None,
    watch: Sequence[str] = (),
    trace: bool = True,
    again_after: int = 0,
    idle: int = 0,
) -> Simulation:
    """Compile the module `top` (once), reset it for two cycles, and clock it.

    source      the text of a module, a path, or several of either
    inputs      stream -> words, offered under valid/ready; other input -> one value that is held,
                or one for each cycle. Words are whole numbers, or values[n, lanes] of a NumPy type
                that fills the port. NAME_last is 1 with the last word, or as inputs["NAME_last"]
                says. With inputs["rst"] the caller drives the reset.
    engine      "cxxrtl", or "verilator" for large designs: both give the same trace
    words       ends the run: how many words to wait for on each output stream
    cycles      ends the run: exactly so many cycles
                Without either a run ends when all inputs are taken and no word has moved for 1,000
                cycles (which are not counted), not before the `last` of outputs that have one; and
                without any stream after as many cycles as the longest input has values.
    stalls      stream -> pattern of 0 and 1 for each cycle, repeated: 1 withholds the next word of
                an input, the ready of an output; or `Stalls(seed, share)` for all of them by chance
    limit       cycles after which a run that does not end is an error
    vcd         a file to write the trace to, for a waveform viewer
    watch       signals inside to trace as well: "count", "stage0 count" (engine "cxxrtl")
    trace       False: none, for long runs. A trace holds 64 MiB, the last cycles of a longer run.
    again_after  cycles after which the design is reset once more and the run begins anew; what was
                before is not in the result. A design that needs its reset shows it.
    idle        cycles without a word moved after which such a run is an error before its limit; 0:
                never

    Raises RTLError for a source that a tool refuses, for inputs that do not fit, and for an index
    out of bounds, with the engine's words; its kind DoesNotEnd for a run that does not end, with
    what it waits for.
    """
    parameters = arguments.parameters(parameters)
    if vcd is not None:
        vcd = place_of_vcd(vcd)
    with prompt() if isinstance(source, str) else nullcontext():
        model = compiled(read_sources(source, top), engine, parameters)
    plan = Plan(model, inputs, words, cycles, stalls, limit, watch, trace, again_after, idle)
    run = runs.run(top, plan.job)
    if run["ending"] == "oscillates":
        raise RTLError(
            f"In cycle {run['cycles']} the logic of {top} does not settle: it drives "
            "itself in a loop. Put a register into it."
        )
    if run["ending"] == "at limit":
        raise DoesNotEnd(_what_it_waits_for(plan, run), _read(plan, run, idle=run["cycles"]))
    simulation = _read(plan, run)
    if vcd is not None:
        write_vcd(vcd, simulation.trace, top)
    return simulation


def _read(plan: Plan, run: dict, idle: int = 0) -> Simulation:
    """Everything that the simulator has told, as arrays.

    idle   how many cycles after the last word moved are a part of it
    """
    used = run["cycles"]
    if plan.job["cycles"] < 0:
        used = min(used, max(run["last_moved"] + 1, plan.job["at_least"]) + idle)
    trace = _trace(plan, run, used)
    outputs, times, lasts = {}, {}, {}
    for name, taken in zip(plan.streams_out, run["takes"], strict=True):
        port = plan.ports[f"{name}_data"]
        limbs = np.frombuffer(taken["values"], "<u4").reshape(taken["count"], words_of_32(port))
        outputs[name] = from_limbs(limbs, port)
        times[name] = np.frombuffer(taken["times"], np.int64)
        if f"{name}_last" in plan.ports:
            lasts[name] = np.frombuffer(taken["lasts"], np.uint8)
    for port in plan.ports.outputs:
        if port.name in trace and port.name not in plan.ports.of_streams():
            outputs[port.name] = trace[port.name]
    violations = [_violation(plan, *seen) for seen in run["violations"]]
    withdrawn = [(cycle, _broken(plan, stream, kind)) for cycle, stream, kind in run["violations"]]
    model = plan.model
    clocked = counted(used, "cycles", f"clocking {model.top} in {model.engine}")
    return Simulation(
        model.top, model.engine, clocked, outputs, times, lasts, trace, violations, withdrawn
    )


def _trace(plan: Plan, run: dict, used: int) -> Trace:
    """The ring of the driver, straightened, without the idle cycles at the end."""
    rows = min(run["cycles"], plan.job["rows"])
    width = sum(words_of_32(signal) for signal in plan.recorded)
    ring = np.frombuffer(run["record"], "<u4").reshape(rows, width)
    first = run["cycles"] - rows
    if rows:
        ring = np.roll(ring, -(first % rows), axis=0)
    return Trace(plan.recorded, ring[: max(used - first, 0)], first)


def _violation(plan: Plan, cycle: int, stream: int, kind: int) -> str:
    return f"cycle {cycle}: {_broken(plan, stream, kind)} {_KINDS[kind]} before the word was taken"


def _broken(plan: Plan, stream: int, kind: int) -> str:
    """The port of a violation."""
    return plan.streams_out[stream] + _ENDS[kind]


def _what_it_waits_for(plan: Plan, run: dict) -> str:
    """The error's text for a run at its limit: how far each stream is, and what it waits for."""
    parts = []
    for name, taken in zip(plan.streams_out, run["takes"], strict=True):
        wanted = plan.wanted.get(name)
        if wanted is None or taken["count"] < wanted:
            of = f" of {wanted:,}" if wanted is not None else ""
            parts.append(f"{name} has delivered {taken['count']:,}{of} words")
            if wanted is None and f"{name}_last" in plan.ports:
                parts[-1] += f", the latest without {name}_last"
    for name, offered in zip(plan.streams_in, run["offers"], strict=True):
        count = len(plan.offered[name])
        if offered["count"] == count:
            parts.append(f"all {count:,} words of {name} are taken")
        else:
            parts.append(
                f"{name} waits with word {offered['count']:,} of {count:,}: "
                f"{name}_valid is {offered['valid']} and {name}_ready stays {offered['ready']}"
            )
    top = plan.model.top
    clock = "" if CLOCK in plan.ports else f" {top} has no port {CLOCK}, so nothing is clocked."
    said = "; ".join(parts) or "nothing ends it"
    return f"{top} does not end: after {run['cycles']:,} cycles {said}.{clock}"
