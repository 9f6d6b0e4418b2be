"""`prove(source, top)`: does a property hold for every input and every stall, for ever?

A simulation tries some inputs; a solver tries them all. Bounded model checking looks for the
shortest run that breaks a property. Induction then asks whether any run of good cycles can be
followed by a bad one: if not, the property is proved. Lesson timing_and_proof derives both.
"""

import re
from dataclasses import dataclass, field, replace

from labkit.fpga import arguments
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import CLOCK, RESET, Ports, read_ports
from labkit.fpga.sources import Source, Sources, read_sources, without_comments
from labkit.fpga.toolchain import proof_bench, solver
from labkit.fpga.toolchain.cached import cached, text_of
from labkit.fpga.toolchain.lint import lint_once
from labkit.fpga.toolchain.proof_bench import PROPERTIES
from labkit.fpga.toolchain.yosys import read_commands, yosys_version

# What a solver found out about a module, in sentences: which stream or assertion, and where.

_PLACE = re.compile(r"(?P<file>[\w.-]+):(?P<line>\d+)")


def asked(ports: Ports, properties: str) -> str:
    """What was asked of a module, as the begin of a sentence: "The properties hold"."""
    held = [f"valid and data of {stream} hold until ready" for stream in ports.streams_out]
    own = ["the properties hold"] if properties.strip() else []
    text = ", and ".join(held + own) or "the assertions in the module hold"
    return text[0].upper() + text[1:]


def broken_stream(signal: str, trace: dict[str, list[int]], last: int) -> str:
    """The sentence for a `signal` that did not hold: NAME_valid, NAME_data or NAME_last."""
    stream = signal.rpartition("_")[0]
    word = trace[f"{stream}_data"][last - 1]
    before = f"In cycle {last - 1} {stream} offers the word {word} and {stream}_ready is 0"
    if signal.endswith("_valid"):
        return f"{before}; in cycle {last} {signal} is 0 again: the word is lost."
    now = trace[signal][last]
    was = trace[signal][last - 1]
    return (
        f"{before}; in cycle {last} {signal} is {now} in place of {was}, although nobody has "
        "taken it."
    )


def place_of(what: str, sources: Sources, properties: str) -> str | None:
    """Where the learner's own assertion stands, with its text; None for ours.

    what   as the solver names it: "file:12.9-12.30", or the label that the assertion bears
    """
    if found := _PLACE.match(what):
        file, number = found["file"], int(found["line"])
    else:
        file, number = _labelled(what.rpartition(".")[2], sources, properties)
    if file == PROPERTIES:
        lines = properties.splitlines()
        text = lines[number - 1].strip() if number <= len(lines) else ""
    elif file in sources.names:
        text = sources.line(file, number)
    else:
        return None
    return f"{file}, line {number}, `{text}`,"


def _labelled(label: str, sources: Sources, properties: str) -> tuple[str, int]:
    """File and line of a label; ("", 0) if the learner has none such."""
    for file, text in ((PROPERTIES, properties), *sources.files):
        for number, line in enumerate(text.splitlines(), start=1):
            if re.search(rf"\b{re.escape(label)}\s*:", line):
                return file, number
    return "", 0


def vacuous(unreached: list[str], sources: Sources, properties: str, depth: int) -> tuple[str, ...]:
    """A sentence for each case that never happens."""
    reasons = [f"Nothing is broken within {depth} cycles, but that says nothing."]
    if "can_run" in unreached:
        return (*reasons, "No input keeps the assumptions: do they contradict each other?")
    for what in unreached:
        if what.endswith("_can_wait"):
            stream = what.removesuffix("_can_wait")
            reasons.append(
                f"No word of {stream} ever waits: does {stream}_valid look at {stream}_ready?"
            )
        elif what.endswith("_can_move"):
            reasons.append(f"No word of {what.removesuffix('_can_move')} is ever handed over.")
        elif place := place_of(what, sources, properties):
            reasons.append(f"{place} is never asked, because its condition never holds.")
    return (*reasons, "If this takes longer, choose a larger depth.")


PROVED, FAILS, NOTHING = "proved", "fails", "says nothing"
DRAWN = 16  # cycles of a counterexample: the last ones
_LIMITS = re.compile(r"\b(assume|restrict)\b|`(ifn?def|elsif)\s+(FORMAL|SYNTHESIS|YOSYS)\b")


@dataclass(frozen=True)
class Proof:
    """What a solver found out about a module.

    holds           "proved" for ever; "holds for the first 20 cycles", if no run of 20 cycles
                    breaks a property but induction finds no proof; "fails"; or "says nothing",
                    if a property holds only because its case never happens
    counterexample  of one that fails: signal -> its value in each cycle, the last of them broken;
                    one more, if an assertion of the module's own broke at a clock edge.
                    Ports have their names, registers inside "inner." before theirs
    wrong           (signal, cycle) -> the value that it should have held
    """

    top: str
    holds: str
    reasons: tuple[str, ...]
    counterexample: dict[str, list[int]] | None = field(default=None, repr=False)
    wrong: dict[tuple[str, int], int] = field(default_factory=dict, repr=False)
    ports: Ports | None = field(default=None, repr=False)

    def explain(self) -> str:
        """The result in sentences."""
        return " ".join(self.reasons)

    def draw(self) -> None:
        """Draws the counterexample as a waveform; ValueError if there is none."""
        if self.counterexample is None:
            raise ValueError(f"There is no counterexample for {self.top}: {self.explain()}")
        from labkit.fpga.waveforms import draw

        hidden = (CLOCK, RESET)
        names = [port.name for port in self.ports.all if port.name not in hidden]
        length = len(self.counterexample[names[0]])
        last = range(max(0, length - DRAWN), length)
        draw(self.counterexample, names, last, self.wrong)


def prove(
    source: Source,
    top: str,
    parameters: dict[str, int] | None = None,
    depth: int = 20,
    properties: str = "",
    forever: bool = True,
) -> Proof:
    """Proves that each stream out holds valid and data until ready, and the `properties`.

    The module is reset in the first cycle. Then anything may come in, but a stream in also holds
    a word until it is taken.

    source       text or files, as `read_sources` takes them
    depth        cycles to search, and of the induction
    properties   SystemVerilog statements on the ports, such as "assert (out_data <= 127);", which
                 are checked at each clock edge after the first cycle; $past(x) is x a cycle
                 before. `assume` statements are kept to. `assert` statements within the module
                 are checked as well, but it may hold no assumptions.
    forever      whether induction is tried, too; without it, no more than `depth` cycles are known

    Raises RTLError for sources that do not lint, for properties that Yosys refuses, for a module of
    which nothing is asked, for a missing solver, and where none answers in time. The answer is kept
    in the cache.
    """
    parameters = arguments.parameters(parameters)
    arguments.text("properties", properties, '"assert (out_data <= 127);"')
    depth = arguments.whole("depth", depth, 2)  # a word that waits needs two cycles
    sources = read_sources(source, top)
    _refuse_assumptions(sources)
    lint_once(sources, parameters)
    ports = read_ports(sources, parameters)
    bench = proof_bench.bench(sources, ports, parameters, properties)
    tools = [yosys_version(), solver.solver_version(), text_of(__file__, solver.__file__)]
    depends_on = [bench.digest, bench.names, depth, tools, forever]
    answer = cached("proofs", depends_on, lambda: _ask(bench, depth, properties, forever))
    return _proof(sources, ports, properties, depth, answer)


def _proof(sources: Sources, ports: Ports, properties: str, depth: int, answer: dict) -> Proof:
    """What the solver's answer, that of `_ask`, says of the module."""
    top = sources.top
    if answer["broken"]:
        return _failed(sources, ports, properties, answer)
    if answer["unreached"]:
        return Proof(top, NOTHING, vacuous(answer["unreached"], sources, properties, depth))
    if answer["proved"]:
        after = "after the reset, " if RESET in ports else ""
        said = f"{asked(ports, properties)}: {after}proved for every input, for ever."
        return Proof(top, PROVED, (said,))
    holds = f"holds for the first {depth} cycles"
    said = f"{asked(ports, properties)}: no input breaks it within {depth} cycles."
    if answer["proved"] is False:
        said += (
            " Induction proves no more: some state, which need not be reachable, would lead to a "
            "bad one. A larger depth may prove it, or a property about the state."
        )
    return Proof(top, holds, (said,))


def _refuse_assumptions(sources: Sources) -> None:
    """Raises RTLError for a module that limits what may come in, or is another one in proofs."""
    for file, text in sources.files:
        for number, line in enumerate(without_comments(text).splitlines(), start=1):
            if found := _LIMITS.search(line):
                raise RTLError(
                    f"{file}, line {number}: `{found.group()}` would prove another module than the "
                    "one that is built. Assumptions belong into `properties`.",
                    number,
                )


def _ask(bench: Sources, depth: int, properties: str, forever: bool) -> dict:
    """The search; if it finds nothing, whether its cases happen at all; then the induction."""
    # Errors name lines of the properties as if these were a file of their own.
    named = replace(bench, files=(*bench.files, (proof_bench.PROPERTIES, properties)))
    read, hierarchy = read_commands(bench)
    formal = read.replace("read_verilog", "read_verilog -formal", 1)
    with bench.laid_out() as folder:
        solver.write_formulas([formal, hierarchy], folder, named)
        found = solver.search(folder, depth)
        if found:
            return {"broken": found.broken, "trace": found.trace}
        answer = {"broken": [], "unreached": solver.unreached(folder, depth), "proved": None}
        if forever and not answer["unreached"]:
            answer["proved"] = solver.induction(folder, depth)
        return answer


def _failed(sources: Sources, ports: Ports, properties: str, answer: dict) -> Proof:
    """The proof that fails, with its counterexample and a sentence for all that broke."""
    trace = dict(answer["trace"])
    own = [place_of(what, sources, properties) for what in answer["broken"]]
    # What is checked at a clock edge is known to the solver a cycle later.
    in_module = [place for place in own if place and not place.startswith(proof_bench.PROPERTIES)]
    if not in_module:
        trace = {name: values[:-1] for name, values in trace.items()}
    last = len(trace[ports.all[0].name]) - 1
    reasons = []
    wrong = {}
    for what, place in zip(answer["broken"], own, strict=True):
        if place:
            reasons.append(f"{place} fails in cycle {last}.")
        else:
            signal = what.removesuffix("_holds")
            reasons.append(broken_stream(signal, trace, last))
            wrong[signal, last] = trace[signal][last - 1]
    return Proof(sources.top, FAILS, tuple(reasons), trace, wrong, ports)
