"""Exercises whose answer is SystemVerilog: simulated, compared word by word, then weighed.

An answer is the text of one module. It must pass lint and have the ports of the course's own
module; then it is simulated on every case, once as fast as it goes and once with stalls, and what
its streams hand over is compared with the oracle. Only when all words are right, the cycles and
the gates are held against their limits.
"""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from labkit.checks.items import Case, Exercise, Refused, TooDear
from labkit.checks.lesson_files import exercise
from labkit.checks.render import Code
from labkit.fpga.errors import RTLError
from labkit.provenance import Quantity

BEFORE, AFTER = 4, 2  # cycles of the waveform around the first wrong word
STALLED = 0.4  # share of the cycles in which a stalled stream does not move
WHEN_STALLED = "The words are right when they flow freely, but not when a neighbour waits."
RESOURCES = {"lut": "LUTs", "ff": "flip-flops", "dsp": "DSPs", "bram36": "block RAMs"}


@dataclass(frozen=True)
class Drive:
    """How the module is run on the inputs of one case; the fields are those of `simulate`.

    words   how many words each output stream must hand over before the run ends
    """

    inputs: Mapping[str, Any]
    words: Mapping[str, int] | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)


def rtl_exercise(
    id: str,
    *,
    top: str,
    solution: str,
    drive: Callable[..., Drive],
    cases: Callable[[np.random.Generator], Iterable[Case]],
    oracle: Callable,
    wrong: Mapping[str, Callable],
    support: Sequence[Any] = (),
    read: Callable[..., Any] | None = None,
    cycles: Callable[..., int] | None = None,
    gates: Mapping[str, int] | None = None,
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner writes a module; its texts stand beside its module.

    top       the module's name
    solution  the lesson's own module, from what `labkit build` writes
    drive     drive(*inputs) -> a `Drive`: what is offered on which port
    oracle    oracle(*inputs): the expected outputs, from NumPy
    wrong     a function like the oracle for each misconception
    support   further sources that the module may use, paths of labkit's own
    read      read(simulation, *inputs) -> the outputs; without it, the words of the streams (or
              the values of the ports) that `outputs` names
    cycles    cycles(*inputs) -> how many clock cycles a run without stalls may take
    gates     what the synthesised module may use: {"dsp": 4, "lut": 200}
    fields    those of an `Exercise`
    """
    outputs = fields.get("outputs", ("y",))
    judge = RTLJudge(top, solution, drive, support, read or reader(outputs), cycles, gates)

    def cost() -> list[tuple[str, Quantity]]:
        return judge.costs()

    defaults = {"outputs": outputs, "dtype": "any", "rtol": 0.0, "atol": 0.0}
    return exercise(
        id,
        oracle,
        cases,
        wrong,
        cost=cost,
        adapter=judge.adapter,
        plain=judge.plain,
        fallback=solution,
        locate=judge.locate,
        **(defaults | fields),
    )


def reader(outputs: Sequence[str]) -> Callable:
    """Takes the named streams or ports out of a simulation."""

    def read(simulation: Any, *inputs: Any) -> Any:
        found = tuple(np.asarray(simulation.outputs[name]) for name in outputs)
        return found if len(found) > 1 else found[0]

    return read


class RTLJudge:
    """Simulates a learner's module on the inputs of every case, and weighs it when it is right."""

    def __init__(
        self,
        top: str,
        solution: str,
        drive: Callable[..., Drive],
        support: Sequence[Any],
        read: Callable[..., Any],
        cycles: Callable[..., int] | None,
        gates: Mapping[str, int] | None,
    ) -> None:
        """The arguments are those of `rtl_exercise`."""
        self.top = top
        self.solution = solution
        self.drive = drive
        self.support = support
        self.read = read
        self.cycles = cycles
        self.gates = gates or {}
        self.runs: dict[bytes, Any] = {}  # simulations of the learner's module, by inputs
        self.report: Any = None  # of its synthesis

    def adapter(self, answer: object) -> Callable:
        """A function of the inputs that simulates the learner's module; or Refused."""
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise Refused(f"The answer is the text of a module, in quotes; this is of type {kind}.")
        self.runs.clear()
        self.report = None
        self.demand_ports(answer)
        return lambda *inputs: self.judged(answer, inputs)

    def plain(self, answer: str, *inputs: Any) -> Any:
        """What a module computes, judged by nobody."""
        return self.read(self.simulated(answer, inputs), *inputs)

    def demand_ports(self, answer: str) -> None:
        """Refused where the module does not have the ports, widths and signs of the course's."""
        try:
            theirs = self.ports_of(answer)
        except RTLError as error:
            raise Refused(str(error)) from None
        for port in self.ports.all:
            if port.name not in theirs:
                raise Refused(f"The module {self.top} has no port `{port.name}`.")
            if theirs[port.name] != port:
                raise Refused(f"The port `{port.name}` should be {described(port)}.")

    @cached_property
    def ports(self) -> Any:
        """The ports of the course's own module."""
        return self.ports_of(self.solution)

    def ports_of(self, answer: str) -> Any:
        """The ports of a module; raises RTLError where it cannot be read."""
        from labkit.fpga.ports import read_ports
        from labkit.fpga.sources import read_sources

        return read_ports(read_sources([answer, *self.support], self.top))

    def judged(self, answer: str, inputs: tuple) -> Any:
        """The outputs; Refused or TooDear where these say all."""
        try:
            simulation = self.simulated(answer, inputs)
        except RTLError as error:
            raise Refused(str(error)) from None
        outputs = self.read(simulation, *inputs)
        self.runs[pickle.dumps(inputs)] = simulation
        expected = self.plain(self.solution, *inputs)
        if not same(outputs, expected):
            return outputs
        self.demand_patience(answer, inputs, expected)
        self.demand_few_cycles(simulation, inputs)
        self.demand_few_gates(answer)
        return outputs

    def demand_patience(self, answer: str, inputs: tuple, expected: Any) -> None:
        """Refused where other words come out once neighbours wait, or not all of them."""
        try:
            stalled = self.read(self.simulated(answer, inputs, stalled=True), *inputs)
        except RTLError as error:
            raise Refused(f"{WHEN_STALLED} {error}") from None
        if not same(stalled, expected):
            raise Refused(
                f"{WHEN_STALLED} With valid or ready at 0 in some cycles, other words "
                "come out. What may change in a cycle in which nothing moves?"
            )

    def simulated(self, source: str, inputs: tuple, stalled: bool = False) -> Any:
        """One run of a module on the inputs of a case."""
        from labkit.fpga import simulate
        from labkit.fpga.stalls import Stalls

        run = self.drive(*inputs)
        stalls = Stalls(seed=1, share=STALLED) if stalled else None
        return simulate(
            [source, *self.support],
            self.top,
            run.inputs,
            parameters=dict(run.parameters),
            words=run.words,
            stalls=stalls,
        )

    def demand_few_cycles(self, simulation: Any, inputs: tuple) -> None:
        """TooDear where a run without stalls takes more cycles than the exercise allows."""
        if self.cycles is None:
            return
        taken, enough = int(simulation.cycles), self.cycles(*inputs)
        if taken > enough:
            raise TooDear(
                f"The words are right, but they take {taken:,} clock cycles, and {enough:,} are "
                "enough."
            )

    def demand_few_gates(self, answer: str) -> None:
        """TooDear where the synthesised module uses more than the exercise allows."""
        if not self.gates:
            return
        from labkit.fpga import synthesize

        if self.report is None:
            try:
                self.report = synthesize([answer, *self.support], self.top)
            except RTLError as error:
                raise Refused(str(error)) from None
        for resource, enough in self.gates.items():
            used = float(getattr(self.report, resource))
            if used > enough:
                name = RESOURCES[resource]
                raise TooDear(
                    f"The words are right, but the module takes {used:g} {name}, and {enough} are "
                    "enough."
                )

    def costs(self) -> list[tuple[str, Quantity]]:
        """Rows (label, quantity): cycles of the longest run, and the gates that are limited."""
        longest = max(self.runs.values(), key=lambda run: int(run.cycles))
        rows = [("cycles of the longest case", longest.cycles)]
        for resource in self.gates:
            rows.append((RESOURCES[resource], getattr(self.report, resource)))
        return rows

    def locate(self, inputs: tuple, output: str, index: tuple[int, ...]) -> list[Any]:
        """Where the wrong element of an output shows in a waveform: the cycles around it."""
        simulation = self.runs.get(pickle.dumps(inputs))
        times = getattr(simulation, "times", {}).get(output)
        if times is None or not index:
            return []
        word = 0 if len(times) == 1 else index[0]  # the lanes of a single word are all in it
        if word >= len(times):
            return []
        cycle = int(times[word])
        return [f"It shows in clock cycle {cycle}:", Code(wave_text(simulation.trace, cycle))]


def same(got: Any, expected: Any) -> bool:
    """Whether two results, each an array or a tuple of arrays, are equal."""
    if isinstance(got, tuple):
        return all(map(np.array_equal, got, expected))
    return np.array_equal(got, expected)


def described(port: Any) -> str:
    """ "an input of 8 bits, signed"."""
    kind = "an input" if port.is_input else "an output"
    bits = "1 bit" if port.width == 1 else f"{port.width} bits"
    return f"{kind} of {bits}" + (", signed" if port.signed else "")


def wave_text(trace: Mapping[str, Sequence[int]], cycle: int) -> str:
    """A table of all ports in the cycles around one: a column for each cycle, a row for each port.

    trace   the value of each port in each cycle

    Ports that hold several numbers side by side are in hexadecimal, the low digits of wide ones.
    """
    length = min(len(values) for values in trace.values())
    shown = range(max(0, cycle - BEFORE), min(length, cycle + AFTER + 1))
    rows = [("cycle", [str(c) for c in shown])]
    for name, values in trace.items():
        port = getattr(trace, "signals", {}).get(name)
        if is_packed(port):
            rows.append((f"{name}, hex", [hexadecimal(values[c], port) for c in shown]))
        else:
            rows.append((name, [str(int(values[c])) for c in shown]))
    names = max(len(name) for name, _ in rows)
    widths = [max(len(cells[c]) for _, cells in rows) for c in range(len(shown))]
    lines = []
    for name, cells in rows:
        aligned = [cell.rjust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join([name.ljust(names), *aligned]))
    return "\n".join(lines)


def is_packed(port: Any) -> bool:
    """Whether a port is wider than one number and has no sign: then it holds several, in bytes."""
    return port is not None and not port.signed and port.width > 8


def hexadecimal(value: int, port: Any) -> str:
    """The value of a port in hexadecimal digits; of many, the last eight."""
    digits = (port.width + 3) // 4
    text = f"{int(value):0{digits}x}"
    return text if digits <= 12 else f"…{text[-8:]}"
