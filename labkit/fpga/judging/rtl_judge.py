"""Judges a learner's module: its ports, its words in every case, its trials, its demands."""

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from labkit.checks.items import Case, Refused, Unsolved
from labkit.fpga import simulate
from labkit.fpga.judging.demands import Demands, refused_by_tools
from labkit.fpga.judging.first_difference import Paragraphs, Words, of_wrong
from labkit.fpga.judging.trials import (
    STALLS,
    Bench,
    demand_early_ready,
    demand_patience,
    demand_reset,
    demand_room,
    same,
)
from labkit.fpga.ports import RESET, Port, Ports, read_ports
from labkit.fpga.simulate import Simulation
from labkit.fpga.sources import Sources, read_sources, with_support
from labkit.fpga.toolchain.lint import refuse_errors
from labkit.fpga.toolchain.models import Model, compiled
from labkit.fpga.toolchain.tools import side_by_side
from labkit.provenance import Quantity

# The ports that an exercise asks for: all of them, as wide, with or without a sign.


def demand_ports(theirs: Ports, ours: Ports) -> None:
    """Refused where a module does not have the ports, widths and signs of the course's."""
    for port in ours.all:
        if port.name not in theirs:
            raise Refused(f"The module {ours.top} has no port `{port.name}`.")
        if theirs[port.name] != port:
            raise Refused(unlike(port, theirs[port.name]))
    for port in theirs.all:
        if port.is_input and port.name not in ours:
            raise Refused(
                f"The module {ours.top} has an input `{port.name}` that the exercise does not "
                "have, so nothing would drive it. Leave it out."
            )


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
    size       parameters with which the ports are compared
    is_ahead   whether the tools were asked ahead about the module that comes next
    refusal    what they then said against it, in every case
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
    size: dict[str, int] = field(default_factory=dict, init=False)
    is_ahead: bool = field(default=False, init=False)
    refusal: Refused | None = field(default=None, init=False)

    # --- what an `Exercise` asks for

    def adapter(self, answer: object) -> Callable:
        """A function of the inputs that simulates the learner's module; or Refused."""
        if not isinstance(answer, str):
            kind = type(answer).__name__
            raise Refused(f"The answer is the text of a module, in quotes; this is of type {kind}.")
        if self.given is not None and answer.split() == self.given.split():
            raise Unsolved("the module is still as it was given")
        if not self.is_ahead:
            self.forget()
        self.is_ahead = False
        self.demand_ports(answer)
        if self.refusal is not None:
            raise self.refusal
        return lambda *inputs: self.judged(answer, inputs)

    def ahead(self, answer: object, cases: Sequence[Case]) -> None:
        """Asks the tools for what the cases will need, side by side. Nothing is said here."""
        self.forget()
        self.is_ahead = True
        if not isinstance(answer, str):
            return
        sizes = [self.drive(*case.args).parameters for case in cases]
        first, *others = [size for place, size in enumerate(sizes) if size not in sizes[:place]]
        self.size = dict(first)
        try:
            with refused_by_tools():
                for model in side_by_side(self.models(answer, [first])):
                    model.result()
                asks = self.asks_after(answer, cases[0])
                found = side_by_side([*asks.values(), *self.models(answer, others)])
                self.demands.answers.update(zip(asks, found[: len(asks)], strict=True))
        except Refused as refusal:
            self.refusal = refusal

    def asks_after(self, answer: str, case: Case) -> dict[str, Callable[[], Any]]:
        """What the demands ask for, of a module whose words are right in a case."""
        with suppress(Refused):
            self.demand_ports(answer)
            if self.words(answer, case.args)[1]:
                return self.demands.asks(answer)
        return {}

    def models(self, answer: str, sizes: Iterable[Mapping]) -> list[Callable[[], Model]]:
        """Calls that compile the learner's module and ours in these sizes."""
        return [
            partial(self.compiled, source, size)
            for size in sizes
            for source in (answer, self.solution)
        ]

    def compiled(self, source: str, size: Mapping[str, int]) -> Model:
        """A module, as it is simulated."""
        return compiled(self.sources(source), "cxxrtl", dict(size))

    def forget(self) -> None:
        """Another module comes."""
        self.runs.clear()
        self.demands.forget()
        self.refusal = None

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
        ours = self.simulated(self.solution, inputs)
        words = Words(simulation, arrays(self.read(simulation, *inputs)))
        place = self.outputs.index(output)
        return of_wrong(words, ours, place, index, self.outputs, stalled=False)

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
            refuse_errors(sources)
            theirs = read_ports(sources, self.size, cpp=True)  # to be simulated next
            demand_ports(theirs, read_ports(self.sources(self.solution), self.size))

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
        """The outputs; Refused, CostLimitExceeded or NotJudged where these say all."""
        with self.demands.asking():
            simulation, right = self.words(answer, inputs)
            outputs = self.read(simulation, *inputs)
        if not right:
            return outputs
        self.demands.demand_proof(answer)
        self.demands.demand_few_cycles(int(simulation.cycles), inputs)
        with self.demands.asking():
            self.demand_flow(answer, inputs, simulation)
        self.demands.demand_few_gates(answer)
        self.demands.demand_fast_clock(answer)
        return outputs

    def words(self, answer: str, inputs: tuple) -> tuple[Simulation, bool]:
        """A run without stalls, and whether its words are right, with stalls and resets as well.

        Refused where it does not end, Unsteady where stalls or a reset make other words.
        """
        bench = self.bench(answer, inputs)
        simulation, said, ended = bench.tried()
        if not ended:
            headline, details = said
            raise Refused(headline, *details)
        self.runs[pickle.dumps(inputs)] = simulation
        if not same(bench.read(simulation), bench.right.read):
            return simulation, False
        stalled = demand_patience(bench, partial(self.demands.shortest_run, answer))
        if RESET in self.ports and self.ports.streams_out:  # other outputs may keep old values
            demand_reset(bench, stalled)
        return simulation, True

    def demand_flow(self, answer: str, inputs: tuple, simulation: Simulation) -> None:
        """CostLimitExceeded where it has too little room for words, or ready waits for valid."""
        bench = self.bench(answer, inputs)
        if self.keeps:
            demand_room(bench, simulation, self.ports, self.keeps)
        if self.early_ready:
            ours = self.simulated(self.solution, inputs, stalls=STALLS)
            demand_early_ready(bench, ours, self.ports)

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
