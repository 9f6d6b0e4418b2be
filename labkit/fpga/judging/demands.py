"""What is demanded of a learner's module whose words are right: rules, cycles, gates, a clock.

Each demand is optional. One that is not met is told in a sentence, as `CostLimitExceeded`; a
tool's own words against the module, as `Refused`; that a tool could not work, as `NotJudged`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labkit.checks.items import AnswerLimitExceeded, CostLimitExceeded, NotJudged, Refused
from labkit.checks.render import Code
from labkit.fpga import place_and_route, prove, synthesize
from labkit.fpga.errors import OutOfTime, RTLError, ToolError, ToolMissing
from labkit.fpga.judging.wave_table import wave_table
from labkit.fpga.ports import CLOCK
from labkit.fpga.prove import FAILS, NOTHING, Proof
from labkit.fpga.source_view import paragraphs
from labkit.fpga.sources import with_support, without_comments
from labkit.fpga.synthesize import Synthesis
from labkit.fpga.timing import Timing
from labkit.fpga.toolchain.tools import prompt, side_by_side
from labkit.provenance import Quantity

# Why a module takes more of the FPGA than it should: what its cells and its text show.

_DIVIDES = re.compile(r"[%/](?!=)\s*(?!(?:2|4|8|16|32|64)\b)\w")
_MEMORY = re.compile(r"\blogic\b[^;]*?\b(?P<name>\w+)\s*\[[^\]]+\]\s*[;,]")
_BEYOND = 25  # bits of a factor, of which a DSP takes one of 25 and one of 18
_AT_ONCE = r"\bassign\b[^;]*=[^;]*\b{}\s*\["
_READ_AT_ONCE = (
    "`{}` is read without a clock edge, in an `assign`. A block RAM shows a word only after an "
    "edge, so read it into a register, with `<=` in `always_ff`."
)
_NO_BLOCK_RAM = (
    "`{}` is in no block RAM, which is written and read at clock edges, a word in a cycle: a word "
    "that is read goes into a register, and no reset and no loop touches all of them."
)
_NO_MEMORY = (
    "`{}` has become flip-flops: in a memory, one word is written in a cycle, so that no reset and "
    "no loop may touch all of them."
)
_DIVIDER = (
    "a division, or a remainder, takes many LUTs unless it is by a power of two: compare, and "
    "begin again at 0."
)
_MULTIPLIERS = (
    "there are {} multipliers. A product in each branch of `?` or `if` is one of its own: choose "
    "first, and multiply once."
)
_WIDE = "a factor has {} bits, and a DSP takes 25 by 18: several of them share a wider product."


def cost_cause(synthesis: Synthesis, limits: Mapping[str, int], text: str) -> str | None:
    """The likely cause, as a sentence; None where the cells and the text show none.

    limits   what the exercise limits: its resources, by their names in `synthesis`
    text     the learner's module
    """
    bare = without_comments(text)
    cells = {name for name, count in synthesis.cells.items() if count}
    memory = _MEMORY.search(bare)
    if memory and limits.get("bram36"):
        if re.search(_AT_ONCE.format(memory["name"]), bare):
            return _READ_AT_ONCE.format(memory["name"])
        if not synthesis.bram36.value:
            return _NO_BLOCK_RAM.format(memory["name"])
    if memory and not any(name.startswith("RAM") for name in cells):
        return _NO_MEMORY.format(memory["name"])
    if _DIVIDES.search(bare):
        return _DIVIDER
    left = synthesis.multipliers.left
    if len(left) > limits.get("dsp", len(left)):
        return _MULTIPLIERS.format(len(left))
    widest = max((max(one.a_bits, one.b_bits) for one in left), default=0)
    if widest > _BEYOND and "dsp" in limits:
        return _WIDE.format(widest)
    return None


RESOURCES = {"lut": "LUTs", "ff": "flip-flops", "dsp": "DSPs", "bram36": "block RAMs"}


UNPROVED = (
    "The solver found no answer in time. What is kept in fewer registers is easier for it: a "
    "number that follows from others, such as how many words wait, need not be kept."
)
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
        raise refused(error) from None


def refused(error: RTLError) -> Refused:
    """What a tool says of the learner's module; the lines that it quotes stand apart."""
    return Refused(*paragraphs(str(error)))


def drawn(proof: Proof) -> list[Code]:
    """The end of a counterexample, as a table of the ports; nothing where there is none."""
    if not proof.counterexample:
        return []
    shown = {p.name: p for p in proof.ports.all if p.name != CLOCK}
    values = {name: proof.counterexample[name] for name in shown}
    last = len(next(iter(values.values()))) - 1
    return [Code(wave_table(values, last, shown))]


def _likely(cause: str | None) -> list[str]:
    """A paragraph for a cause, where one is known."""
    return [] if cause is None else [f"Likely cause: {cause}"]


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
    depth: int = 20
    cycles: Callable[..., int] | None = None
    gates: Mapping[str, int] = field(default_factory=dict)
    clock: float | None = None
    gate_parameters: Mapping[str, int] = field(default_factory=dict)
    answers: dict[str, Future] = field(default_factory=dict, init=False)
    unjudged: dict[str, NotJudged] = field(default_factory=dict, init=False)

    def forget(self) -> None:
        """Another module comes."""
        self.answers.clear()
        self.unjudged.clear()

    def asks(self, answer: str) -> dict[str, Callable[[], Any]]:
        """What the tools are asked for: "proof", "synthesis", "timing", and "ours", its limit."""
        mine = with_support(answer, self.support), self.top
        asked = {}
        if self.proves is not None:
            asked["proof"] = partial(prove, *mine, None, self.depth, self.proves, forever=False)
        if self.gates:
            asked["synthesis"] = partial(synthesize, *mine, dict(self.gate_parameters))
        if self.clock is not None:
            ours = with_support(self.solution, self.support), self.top
            asked["timing"] = partial(place_and_route, *mine)
            asked["ours"] = partial(place_and_route, *ours)
        return asked

    def result(self, name: str, answer: str) -> Any:
        """What a tool says of the learner's module; Refused or NotJudged where it does not."""
        with self.asking(WORDS_RIGHT):
            if name not in self.answers:
                (self.answers[name],) = side_by_side([self.asks(answer)[name]])
            try:
                return self.answers[name].result()
            except OutOfTime:
                if name != "proof":
                    raise
                raise OutOfTime(UNPROVED) from None

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
        found = {name: answer.result() for name, answer in self.answers.items()}
        rows = [(RESOURCES[name], getattr(found["synthesis"], name)) for name in self.gates]
        if "timing" in found:
            rows.append(("highest clock on the ECP5", found["timing"].fmax))
        return rows

    # --- rules that no input may break

    def demand_proof(self, answer: str) -> None:
        """CostLimitExceeded where the solver finds an input that breaks a rule, or proves nothing.

        So what a simulation shows of the same mistake, in this case or another, is told first.
        """
        if self.proves is None:
            return
        proof: Proof = self.result("proof", answer)
        if proof.holds in (FAILS, NOTHING):
            said = f"The words are right, but the solver is not content. {proof.explain()}"
            raise AnswerLimitExceeded(said, *drawn(proof))

    def shortest_run(self, answer: str) -> list[str | Code]:
        """The shortest run that breaks a rule; nothing where none is asked or found."""
        if self.proves is None:
            return []
        with suppress(NotJudged):
            proof: Proof = self.result("proof", answer)
            if proof.counterexample:
                return [f"The shortest run that shows it: {proof.explain()}", *drawn(proof)]
        return []

    # --- limits

    def _size(self) -> list[str]:
        """With which parameters gates are counted, where the exercise names some."""
        chosen = " and ".join(f"{name} = {n}" for name, n in self.gate_parameters.items())
        return [f"They are counted for {chosen}."] if chosen else []

    def demand_few_cycles(self, taken: int, inputs: tuple) -> None:
        """CostLimitExceeded where a run without stalls takes more cycles than are allowed."""
        if self.cycles is None:
            return
        enough = self.cycles(*inputs)
        if taken > enough:
            raise CostLimitExceeded(
                f"The words are right, but they take {taken:,} clock cycles, and {enough:,} are "
                "enough."
            )

    def demand_few_gates(self, answer: str) -> None:
        """CostLimitExceeded where the synthesised module uses more than the exercise allows."""
        if not self.gates:
            return
        synthesis: Synthesis = self.result("synthesis", answer)
        for resource, enough in self.gates.items():
            used = float(getattr(synthesis, resource))
            if used > enough:
                raise AnswerLimitExceeded(
                    f"The words are right, but the module takes {used:g} {RESOURCES[resource]}, "
                    f"and {enough} are enough.",
                    *self._size(),
                    *_likely(cost_cause(synthesis, self.gates, answer)),
                )

    def demand_fast_clock(self, answer: str) -> None:
        """CostLimitExceeded where a path between two registers is much longer than in ours."""
        if self.clock is None:
            return
        timing: Timing = self.result("timing", answer)
        ours: Timing = self.result("ours", answer)
        if float(timing.fmax) < self.clock * float(ours.fmax):
            raise AnswerLimitExceeded(
                f"The words are right, but the highest clock is {timing.fmax.number} on the "
                f"ECP5, and ours reaches {ours.fmax.number}. Which path between two registers is "
                "still long?"
            )
