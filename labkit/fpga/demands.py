"""What is demanded of a learner's module whose words are right: rules, cycles, gates, a clock.

Each demand is optional. One that is not met is told in a sentence, as `TooDear`; a tool's own
words against the module, as `Refused`; that a tool could not work, as `NotJudged`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from labkit.checks.items import NotJudged, Refused, TooDear
from labkit.fpga import place_and_route, prove, synthesize
from labkit.fpga.errors import RTLError, ToolError, ToolMissing
from labkit.fpga.prove import FAILS, NOTHING, Proof
from labkit.fpga.source_view import paragraphs
from labkit.fpga.sources import with_support
from labkit.fpga.synthesize import Synthesis
from labkit.fpga.timing import Timing
from labkit.fpga.tools import prompt
from labkit.provenance import Quantity

RESOURCES = {"lut": "LUTs", "ff": "flip-flops", "dsp": "DSPs", "bram36": "block RAMs"}


NOT_RUN = "Your module was not run."
WORDS_RIGHT = "The words are right, but the rest was not judged."


@contextmanager
def refused_by_tools(so_far: str = "") -> Iterator[None]:
    """What a tool raises on a learner's module becomes what the learner is told.

    so_far   what is already known of the module, for one that a tool cannot judge
    """
    try:
        with prompt():
            yield
    except ToolMissing as error:
        raise NotJudged(f"{so_far or NOT_RUN} {error}") from None
    except ToolError as error:
        raise NotJudged(f"{so_far} {error}".strip()) from None
    except RTLError as error:
        raise Refused(*paragraphs(str(error))) from None


@dataclass(eq=False)
class Demands:
    """The demands of one exercise, and what the tools said of the learner's last module.

    The first fields are those of `rtl_exercise`. Each tool is asked at most once for a module;
    `forget` comes before another one.
    """

    top: str
    solution: str
    support: Sequence[Any] = ()
    proves: str | None = None
    cycles: Callable[..., int] | None = None
    gates: Mapping[str, int] = field(default_factory=dict)
    clock: float | None = None
    gate_parameters: Mapping[str, int] = field(default_factory=dict)
    proof: Proof | None = field(default=None, init=False)
    synthesis: Synthesis | None = field(default=None, init=False)
    timing: Timing | None = field(default=None, init=False)
    unjudged: dict[str, NotJudged] = field(default_factory=dict, init=False)

    def forget(self) -> None:
        """Another module comes."""
        self.proof = None
        self.synthesis = None
        self.timing = None
        self.unjudged.clear()

    @contextmanager
    def asking(self, so_far: str = "") -> Iterator[None]:
        """`refused_by_tools`; where one could not judge the module, no tool is asked again."""
        if so_far in self.unjudged:
            raise self.unjudged[so_far]
        try:
            with refused_by_tools(so_far):
                yield
        except NotJudged as error:
            self.unjudged[so_far] = error
            raise

    def costs(self) -> list[tuple[str, Quantity]]:
        """Rows (label, quantity) of what is limited, beside the cycles."""
        rows = [(RESOURCES[name], getattr(self.synthesis, name)) for name in self.gates]
        if self.timing is not None:
            rows.append(("highest clock on the ECP5", self.timing.fmax))
        return rows

    # --- rules that no input may break

    def demand_proof(self, answer: str) -> None:
        """TooDear where the solver finds an input that breaks a rule, or proves nothing at all.

        So what a simulation shows of the same mistake, in this case or another, is told first.
        """
        if self.proves is None:
            return
        proof = self.proved(answer)
        if proof.holds in (FAILS, NOTHING):
            raise TooDear(f"The words are right, but the solver is not content. {proof.explain()}")

    def shortest_run(self, answer: str) -> str:
        """A sentence on the shortest run that breaks a rule; empty where none is asked or found."""
        if self.proves is None:
            return ""
        with suppress(NotJudged):
            self.proved(answer)
        if self.proof is None or not self.proof.counterexample:
            return ""
        return f"The shortest run that shows it: {self.proof.explain()}"

    def proved(self, answer: str) -> Proof:
        """The solver's answer on the learner's module; Refused where it fails."""
        if self.proof is None:
            with self.asking(WORDS_RIGHT):
                self.proof = prove(
                    with_support(answer, self.support), self.top, properties=self.proves
                )
        return self.proof

    # --- limits

    def demand_few_cycles(self, taken: int, inputs: tuple) -> None:
        """TooDear where a run without stalls has taken more cycles than the exercise allows."""
        if self.cycles is None:
            return
        enough = self.cycles(*inputs)
        if taken > enough:
            raise TooDear(
                f"The words are right, but they take {taken:,} clock cycles, and {enough:,} are "
                "enough."
            )

    def demand_few_gates(self, answer: str) -> None:
        """TooDear where the synthesised module uses more than the exercise allows."""
        if not self.gates:
            return
        if self.synthesis is None:
            with self.asking(WORDS_RIGHT):
                parameters = dict(self.gate_parameters)
                self.synthesis = synthesize(
                    with_support(answer, self.support), self.top, parameters
                )
        for resource, enough in self.gates.items():
            used = float(getattr(self.synthesis, resource))
            if used > enough:
                raise TooDear(
                    f"The words are right, but the module takes {used:g} {RESOURCES[resource]}, "
                    f"and {enough} are enough."
                )

    def demand_fast_clock(self, answer: str) -> None:
        """TooDear where a path between two registers is much longer than in the course's module."""
        if self.clock is None:
            return
        if self.timing is None:
            with self.asking(WORDS_RIGHT):
                self.timing = place_and_route(with_support(answer, self.support), self.top)
        ours = place_and_route(with_support(self.solution, self.support), self.top)
        if float(self.timing.fmax) < self.clock * float(ours.fmax):
            raise TooDear(
                f"The words are right, but the highest clock is {self.timing.fmax.number} on the "
                f"ECP5, and ours reaches {ours.fmax.number}. Which path between two registers is "
                "still long?"
            )
