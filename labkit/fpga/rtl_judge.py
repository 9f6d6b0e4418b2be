"""Judges a learner's module: its ports, its words in every case, its trials, its demands."""

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.fpga import simulate
from labkit.fpga.demands import Demands, refused_by_tools
from labkit.fpga.first_apart import Paragraphs, of_wrong
from labkit.fpga.ports import RESET, Port, Ports, read_ports
from labkit.fpga.simulate import Simulation
from labkit.fpga.sources import Sources, read_sources, with_support
from labkit.fpga.stream_moves import stream_of
from labkit.fpga.subset import refuse_foreign
from labkit.fpga.trials import (
    STALLS,
    Bench,
    demand_early_ready,
    demand_patience,
    demand_reset,
    demand_room,
    same,
)
from labkit.provenance import Quantity


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
    keeps: int = 0
    early_ready: bool = False
    outputs: Sequence[str] = ("y",)
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

    def locate(self, inputs: tuple, output: str, index: tuple[int, ...]) -> Paragraphs:
        """Where the wrong element of an output shows in a waveform: the cycles around it."""
        simulation = self.runs.get(pickle.dumps(inputs))
        if simulation is None or not index:
            return []
        single = len(simulation.times.get(stream_of(output), ())) == 1
        word = 0 if single else index[0]  # the lanes of a single word are all in it
        ours = self.simulated(self.solution, inputs)
        return of_wrong(simulation, ours, output, word, stalled=False)

    # --- ports

    @cached_property
    def ports(self) -> Ports:
        """The ports of the course's own module."""
        return read_ports(self.sources(self.solution))

    def sources(self, answer: str) -> Sources:
        """A module with what it may use; raises RTLError where that cannot be read."""
        return read_sources(with_support(answer, self.support), self.top)

    def demand_ports(self, answer: str) -> None:
        """Refused where the module does not have the ports, widths and signs of the course's."""
        with refused_by_tools():
            sources = self.sources(answer)
            refuse_foreign(sources)
            theirs = read_ports(sources, cpp=True)  # to be simulated next
            ours = self.ports
        for port in ours.all:
            if port.name not in theirs:
                raise Refused(f"The module {self.top} has no port `{port.name}`.")
            if theirs[port.name] != port:
                raise Refused(unlike(port, theirs[port.name]))
        for port in theirs.all:
            if port.is_input and port.name not in ours:
                raise Refused(
                    f"The module {self.top} has an input `{port.name}` that the exercise does not "
                    "have, so nothing would drive it. Leave it out."
                )

    # --- words

    def simulated(self, source: str, inputs: tuple, **options: Any) -> Simulation:
        """One run of a module on the inputs of a case, with further options of `simulate`."""
        run = self.drive(*inputs)
        return simulate(
            with_support(source, self.support),
            self.top,
            run.inputs,
            parameters=run.parameters,
            words=run.words,
            **options,
        )

    def judged(self, answer: str, inputs: tuple) -> Any:
        """The outputs; Refused, TooDear or NotJudged where these say all."""
        with self.demands.asking():
            bench = self.bench(answer, inputs)
            simulation, said, ended = bench.tried()
            if not ended:
                headline, details = said
                raise Refused(headline, *details)
            self.runs[pickle.dumps(inputs)] = simulation
            outputs = self.read(simulation, *inputs)
            if not same(arrays(outputs), bench.right.read):
                return outputs
            stalled = demand_patience(bench, partial(self.demands.shortest_run, answer))
            if RESET in self.ports and self.ports.streams_out:  # other outputs may keep old values
                demand_reset(bench, stalled)
        self.demands.demand_proof(answer)
        self.demands.demand_few_cycles(int(simulation.cycles), inputs)
        if self.keeps:
            demand_room(bench, simulation, self.ports, self.keeps)
        if self.early_ready:
            ours = self.simulated(self.solution, inputs, stalls=STALLS)
            demand_early_ready(bench, ours, self.ports)
        self.demands.demand_few_gates(answer)
        self.demands.demand_fast_clock(answer)
        return outputs

    def bench(self, answer: str, inputs: tuple) -> Bench:
        """The learner's module and ours on the inputs of a case; RTLError where one is refused."""
        return Bench(
            partial(self.simulated, answer, inputs),
            lambda simulation: arrays(self.read(simulation, *inputs)),
            self.simulated(self.solution, inputs),
            self.outputs,
        )


def arrays(read: Any) -> tuple[np.ndarray, ...]:
    """What `read` gives, as a tuple of arrays."""
    return read if isinstance(read, tuple) else (read,)


def unlike(ours: Port, theirs: Port) -> str:
    """The sentence for a port that is not as the exercise has it."""
    said = f"The port `{ours.name}` should be {described(ours)}, and it is {described(theirs)}."
    if theirs.signed == ours.signed:
        return said
    if ours.signed:
        return f"{said} Declare it `logic signed`."
    joined = f"number = {ours.name}" if ours.is_input else f"{ours.name} = number"
    return (
        f"{said} Declare it without `signed`. Where its value has a sign, give it one inside: "
        f"`logic signed [{ours.width - 1}:0] number; assign {joined};`."
    )


def described(port: Port) -> str:
    """ "an input of 8 bits, signed"."""
    kind = "an input" if port.is_input else "an output"
    bits = "1 bit" if port.width == 1 else f"{port.width} bits"
    return f"{kind} of {bits}" + (", signed" if port.signed else "")
