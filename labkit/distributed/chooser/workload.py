"""What a task needs, whatever the machine, and how so many machines of a kind would do it.

`serving.py`, `training.py` and `images.py` make workloads. A step is what is timed: a token
for each request, an image, an update of the weights.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.distributed.chooser.derivation import Derived, Sum
from labkit.distributed.costs.cost_model import CostModel
from labkit.hardware import Machine

HOUR = 3600  # s


class LinksUnknownError(ValueError):
    """Several machines would be needed, and no table says how fast their links are."""


@dataclass(frozen=True)
class Efficiency:
    """A share of peak and bandwidth, 0 to 1, and who reached it."""

    share: float
    source: str


BEST = Efficiency(1.0, "the best case: nothing was measured")


@dataclass(frozen=True)
class Plan:
    """So many machines of one kind at a task.

    memory   bytes that each must hold
    parts    seconds that each limit takes in a step: compute, bandwidth, links
    seconds  of a step, in formula as well
    layout   how they share the work, in words
    first    seconds from a prompt to its first token; None where no prompt is counted
    rate     requests that they serve in a second, prompts included; None as above
    groups   how many times so many machines serve the requests that come
    """

    count: int
    memory: Derived
    parts: Mapping[str, Derived]
    seconds: Derived
    layout: str
    first: Derived | None = None
    rate: Derived | None = None
    groups: int = 1

    @property
    def machines(self) -> int:
        """Of all groups."""
        return self.count * self.groups

    @property
    def binds(self) -> str:
        """The name of the part that takes longest."""
        return max(self.parts, key=lambda name: self.parts[name].value)


@dataclass(frozen=True)
class Workload(ABC):
    """The workload of one task. A subclass knows them; see `memory` and `plan`.

    steps      how many steps are paid for: a million tokens or images, or a whole training
    unit       of the time that is told: s or h
    explained  numbers that stand in the formulas, in a sentence
    """

    task: str  # "serve", "train" or "image"
    says: str  # "Llama 3.1 8B in bf16, ...": for the head of the answer
    number_format: str
    operators: frozenset[str]
    steps: Derived
    step: str  # what a step gives: "a token for each request"
    paid: str  # what `steps` give: "a million tokens"
    left_out: str  # what is not counted, in sentences
    unit: str
    explained: str

    def efficiency(self, machine: Machine) -> Efficiency:
        """The share of peak and bandwidth that such a task reached on such a machine."""
        return BEST

    def paid_hours(self, plan: Plan) -> Sum:
        """Hours of each machine for what is paid for."""
        return plan.seconds.number * self.steps.number / HOUR

    @property
    def timed(self) -> Derived | None:
        """The steps whose time is told and limited: all of a training; None: one step."""
        return self.steps if self.task == "train" else None

    @abstractmethod
    def is_shared_by(self, count: int, machine: Machine) -> bool:
        """Whether so many machines can share it evenly. LinksUnknownError as for `plan`."""

    @abstractmethod
    def memory(self, count: int, machine: Machine) -> Derived:
        """Bytes that each of so many machines must hold, at the least."""

    @abstractmethod
    def plan(self, machine: Machine, count: int, efficiency: float) -> Plan:
        """How so many machines do it. LinksUnknownError where their links are in no table."""

    @abstractmethod
    def ring(self, machine: Machine, count: int) -> CostModel:
        """The ring through all of them. LinksUnknownError as for `plan`."""


def above_zero(name: str, number: object, most: float = float("inf")) -> float:
    """The number, if it is finite, above 0 and at most `most`; else ValueError, a sentence."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    if not is_number or not 0 < number < float("inf"):
        shown = f"{number:g}" if is_number else repr(number)
        raise ValueError(f"{name} is a number above 0, not {shown}.")
    if number > most:
        raise ValueError(f"{name} is at most {most:g}, not {number:g}.")
    return number
