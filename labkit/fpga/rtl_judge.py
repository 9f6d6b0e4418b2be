"""Judges a learner's module: its ports, its words in every case, also under stalls, its demands."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.render import Code
from labkit.fpga import simulate
from labkit.fpga.demands import Demands, refused_by_tools
from labkit.fpga.errors import RTLError
from labkit.fpga.ports import Port, Ports, read_ports
from labkit.fpga.simulate import Simulation
from labkit.fpga.sources import read_sources
from labkit.fpga.stalls import Stalls
from labkit.fpga.wave_table import wave_table
from labkit.provenance import Quantity

STALLS = Stalls(seed=1, share=0.4)
WHEN_STALLED = "The words are right when they flow freely, but not when a neighbour waits."


@dataclass(frozen=True)
class Drive:
    """How the module is run on the inputs of one case; the fields are those of `simulate`.

    words   how many words each output stream must hand over before the run ends
    """

    inputs: Mapping[str, Any]
    words: Mapping[str, int] | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)


@dataclass(eq=False)
class RTLJudge:
    """Simulates a learner's module on the inputs of every case, and weighs it when it is right.

    The fields are those of `rtl_exercise`, but
    runs   simulations of the learner's last module without stalls, by their inputs, pickled
    """

    top: str
    solution: str
    support: Sequence[Any]
    drive: Callable[..., Drive]
    read: Callable[..., Any]
    demands: Demands
    given: str | None = None
    runs: dict[bytes, Simulation] = field(default_factory=dict, init=False)

    # --- what an `Exercise` asks for

    def adapter(self, answer: object) -> Callable:
        """A function of the inputs that simulates the learner's module; or Refused."""
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise Refused(f"The answer is the text of a module, in quotes; this is of type {kind}.")
        if self.given is not None and answer.split() == self.given.split():
            raise Unsolved("the module is still as it was given")
        self.runs.clear()
        self.demands.forget()
        self.demand_ports(answer)
        return lambda *inputs: self.judged(answer, inputs)

    def plain(self, answer: str, *inputs: Any) -> Any:
        """What a module computes, judged by nobody."""
        return self.read(self.simulated(answer, inputs), *inputs)

    def costs(self) -> list[tuple[str, Quantity]]:
        """Rows (label, quantity): cycles of the longest run, and what else is limited."""
        longest = max(self.runs.values(), key=lambda run: int(run.cycles))
        return [("cycles of the longest case", longest.cycles), *self.demands.costs()]

    def locate(self, inputs: tuple, output: str, index: tuple[int, ...]) -> list[Any]:
        """Where the wrong element of an output shows in a waveform: the cycles around it."""
        simulation = self.runs.get(pickle.dumps(inputs))
        if simulation is None or not index:
            return []
        times = simulation.times.get(output, ())
        word = 0 if len(times) == 1 else index[0]  # the lanes of a single word are all in it
        if word >= len(times):
            return []
        cycle = int(times[word])
        return [f"It shows in clock cycle {cycle}:", Code(wave_table(simulation.trace, cycle))]

    # --- ports

    @cached_property
    def ports(self) -> Ports:
        """The ports of the course's own module."""
        return self.ports_of(self.solution)

    def ports_of(self, answer: str) -> Ports:
        """The ports of a module; raises RTLError where it cannot be read."""
        return read_ports(read_sources([answer, *self.support], self.top))

    def demand_ports(self, answer: str) -> None:
        """Refused where the module does not have the ports, widths and signs of the course's."""
        with refused_by_tools():
            theirs = self.ports_of(answer)
        for port in self.ports.all:
            if port.name not in theirs:
                raise Refused(f"The module {self.top} has no port `{port.name}`.")
            if theirs[port.name] != port:
                raise Refused(f"The port `{port.name}` should be {described(port)}.")

    # --- words

    def simulated(self, source: str, inputs: tuple, stalls: Stalls | None = None) -> Simulation:
        """One run of a module on the inputs of a case."""
        run = self.drive(*inputs)
        return simulate(
            [source, *self.support],
            self.top,
            run.inputs,
            parameters=run.parameters,
            words=run.words,
            stalls=stalls,
        )

    def judged(self, answer: str, inputs: tuple) -> Any:
        """The outputs; Refused or TooDear where these say all."""
        with refused_by_tools():
            simulation = self.simulated(answer, inputs)
        outputs = self.read(simulation, *inputs)
        self.runs[pickle.dumps(inputs)] = simulation
        expected = self.plain(self.solution, *inputs)
        if not same(outputs, expected):
            return outputs
        self.demand_patience(answer, inputs, expected)
        self.demands.demand_proof(answer)
        self.demands.demand_few_cycles(int(simulation.cycles), inputs)
        self.demands.demand_few_gates(answer)
        self.demands.demand_fast_clock(answer)
        return outputs

    def demand_patience(self, answer: str, inputs: tuple, expected: Any) -> None:
        """Refused where other words come out once neighbours wait, or not all of them."""
        try:
            run = self.simulated(answer, inputs, STALLS)
            stalled = self.read(run, *inputs)
        except RTLError as error:
            why = self.demands.shortest_run(answer) or error
            raise Refused(f"{WHEN_STALLED} {why}") from None
        if not same(stalled, expected):
            why = self.demands.shortest_run(answer)
            raise Refused(
                f"{WHEN_STALLED} With valid or ready at 0 in some cycles, other words come out. "
                f"{why or 'What may change in a cycle in which nothing moves?'}"
            )
        if run.violations:
            raise Refused(
                "The words are right, but a word that is offered must stay on offer until it is "
                f"taken, and with stalls it does not: {run.violations[0]}."
            )


def same(got: Any, expected: Any) -> bool:
    """Whether two results, each an array or a tuple of arrays, are equal."""
    if isinstance(got, tuple):
        return all(map(np.array_equal, got, expected))
    return np.array_equal(got, expected)


def described(port: Port) -> str:
    """ "an input of 8 bits, signed"."""
    kind = "an input" if port.is_input else "an output"
    bits = "1 bit" if port.width == 1 else f"{port.width} bits"
    return f"{kind} of {bits}" + (", signed" if port.signed else "")
