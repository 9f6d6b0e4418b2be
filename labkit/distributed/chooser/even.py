"""Work that machines share evenly: each holds, reads and computes its part of every layer.

    seconds = max(FLOPs / rate, bytes / bandwidth) + all-reduces, with rate = peak x efficiency

Tensor parallel, as in lesson tensor_parallel: with n machines, every limit but the links is divided
by n. An efficiency of 1 is the best case.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.distributed.chooser.derivation import Derived, derive, largest, number, total
from labkit.distributed.chooser.offers import cluster_of
from labkit.distributed.chooser.workload import Plan, Workload
from labkit.distributed.costs.cost_model import CostModel
from labkit.hardware import Machine

NOTHING = derive("B", "one machine sends nothing", 0)
ALONE = derive("s", "one machine sends nothing", 0)


@dataclass(frozen=True)
class Pass:
    """What goes through the network once.

    flops     OP in formats of integers
    moved     bytes that must come from main memory or go there, at the least
    reduced   bytes of one all-reduce
    """

    flops: Derived
    moved: Derived
    reduced: Derived = NOTHING


@dataclass(frozen=True)
class EvenWorkload(Workload):
    """Needs of a step that do not depend on the machine.

    held         bytes that must fit at the same time, by what they are for
    step_pass    what a step does
    heads        that are shared evenly; 1 if only one machine can do it
    all_reduces  how many a pass needs where machines share it
    """

    held: Mapping[str, Derived]
    step_pass: Pass
    heads: int = 1
    all_reduces: int = 0

    @property
    def flops(self) -> Derived:
        """Of a step."""
        return self.step_pass.flops

    @property
    def moved(self) -> Derived:
        """Bytes of a step."""
        return self.step_pass.moved

    @property
    def reduced(self) -> Derived:
        """Bytes of one all-reduce of a step."""
        return self.step_pass.reduced

    @property
    def total(self) -> Derived:
        """All bytes that must fit."""
        return derive("B", " + ".join(self.held), total(list(self.held.values())))

    def is_shared_by(self, count: int, machine: Machine) -> bool:
        """Whether each machine gets as many heads."""
        return self.heads % count == 0

    def memory(self, count: int, machine: Machine) -> Derived:
        """An even part of all bytes."""
        if count == 1:
            return self.total
        return derive("B", f"({self.total.words}) / machines", self.total.sum / count)

    def plan(self, machine: Machine, count: int, efficiency: float) -> Plan:
        """The roofline of all of them, and the links behind it."""
        parts = self.parts(self.step_pass, machine, count, efficiency)
        return Plan(
            count=count,
            memory=self.memory(count, machine),
            parts=parts,
            seconds=together(parts, count),
            layout="one machine" if count == 1 else f"each layer cut in {count}",
        )

    def parts(
        self, one: Pass, machine: Machine, count: int, efficiency: float
    ) -> dict[str, Derived]:
        """Seconds that each limit takes for a pass."""
        peak = machine.rate(self.number_format)
        rate = number(count) * number(float(peak), peak.unit) * efficiency
        bandwidth = number(count) * number(float(machine.bandwidth), "B/s") * efficiency
        return {
            "compute": derive("s", "FLOPs / (machines x peak x efficiency)", one.flops.sum / rate),
            "bandwidth": derive(
                "s", "bytes / (machines x bandwidth x efficiency)", one.moved.sum / bandwidth
            ),
            "links": self._links(one, machine, count),
        }

    def ring(self, machine: Machine, count: int) -> CostModel:
        """The ring through so many of them, for the bytes that a step's all-reduce sends."""
        return self._ring(self.step_pass, machine, count)

    def _ring(self, one: Pass, machine: Machine, count: int) -> CostModel:
        return cluster_of(machine, count).ring(count, message=one.reduced.value / count)

    def _links(self, one: Pass, machine: Machine, count: int) -> Derived:
        """Seconds of all ring all-reduces of a pass."""
        if count == 1:
            return ALONE
        ring = self._ring(one, machine, count)
        piece = one.reduced.sum / (number(count) * number(ring.bandwidth, "B/s"))
        steps = number(self.all_reduces) * 2 * (number(count) - 1)
        words = "all-reduces x 2 (n - 1) x (latency + bytes / (n x link))"
        return derive("s", words, steps * (number(ring.latency, "s") + piece))


def together(parts: Mapping[str, Derived], count: int) -> Derived:
    """Seconds of a pass: the longer of compute and bandwidth, and the links behind it."""
    longer = largest(parts["compute"].number, parts["bandwidth"].number)
    if count == 1:
        return derive("s", "max(compute, bandwidth)", longer)
    return derive("s", "max(compute, bandwidth) + links", longer + parts["links"].number)
