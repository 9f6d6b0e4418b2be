"""Work that machines share evenly: each holds, reads and computes its part of every layer.

    seconds = max(FLOPs / rate, bytes / bandwidth) + all-reduces, with rate = peak x efficiency

Tensor parallel, as in lesson tensor_parallel: with n machines, every limit but the links is divided
by n. An efficiency of 1 is the best case.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.distributed.chooser.links import cluster_of
from labkit.distributed.chooser.need import Need, Plan
from labkit.distributed.chooser.reckoning import Reckoned, reckon, shown
from labkit.distributed.cost_model import CostModel
from labkit.hardware import Machine

TIME = "max(FLOPs / peak, bytes / bandwidth) / (machines x efficiency) + links"
ZERO = Reckoned(0.0, "s", "one machine sends nothing", "0")


@dataclass(frozen=True)
class EvenNeed(Need):
    """Needs of a step that do not depend on the machine.

    held         bytes that must fit at the same time, by what they are for
    flops        of a step; OP in formats of integers
    moved        bytes that a step must take from main memory or bring there, at the least
    heads        that are shared evenly; 1 if only one machine can do it
    all_reduces  how many a step needs where machines share it
    reduced      bytes of one all-reduce
    """

    held: Mapping[str, Reckoned]
    flops: Reckoned
    moved: Reckoned
    heads: int = 1
    all_reduces: int = 0
    reduced: Reckoned = ZERO

    @property
    def total(self) -> Reckoned:
        """All bytes that must fit."""
        return reckon(
            "B", " + ".join(self.held), " + ".join(part.figures for part in self.held.values())
        )

    def is_shared_by(self, count: int, machine: Machine) -> bool:
        """Whether each machine gets as many heads."""
        return self.heads % count == 0

    def memory(self, count: int, machine: Machine) -> Reckoned:
        """An even part of all bytes."""
        total = self.total
        if count == 1:
            return total
        words = f"({total.words}) / machines"
        return reckon("B", words, f"({total.figures}) / {count}")

    def plan(self, machine: Machine, count: int, efficiency: float) -> Plan:
        """The roofline of all of them, and the links behind it."""
        peak = shown(float(machine.rate(self.number_format)))
        rate = f"({count} * {peak} * {efficiency})"
        bandwidth = f"({count} * {shown(float(machine.bandwidth))} * {efficiency})"
        compute = f"({self.flops.figures}) / {rate}"
        reading = f"({self.moved.figures}) / {bandwidth}"
        links = self._links(machine, count)
        parts = {
            "compute": reckon("s", "FLOPs / (machines x peak x efficiency)", compute),
            "bandwidth": reckon("s", "bytes / (machines x bandwidth x efficiency)", reading),
            "links": links,
        }
        values = {name: shown(part.value) for name, part in parts.items()}
        words = "max(compute, bandwidth)"
        figures = f"max({values['compute']}, {values['bandwidth']})"
        if count > 1:
            words += " + links"
            figures += f" + {values['links']}"
        return Plan(
            count=count,
            memory=self.memory(count, machine),
            parts=parts,
            seconds=reckon("s", words, figures),
            layout="one machine" if count == 1 else f"each layer cut in {count}",
        )

    def ring(self, machine: Machine, count: int) -> CostModel:
        """The ring through so many of this machine, for the bytes that each of its steps sends."""
        return cluster_of(machine, count).ring(count, message=self.reduced.value / count)

    def _links(self, machine: Machine, count: int) -> Reckoned:
        """Seconds of all ring all-reduces of a step."""
        if count == 1:
            return ZERO
        ring = self.ring(machine, count)
        size = self.reduced.figures
        message = f"({shown(ring.latency)} + {size} / ({count} * {shown(ring.bandwidth)}))"
        return reckon(
            "s",
            "all-reduces x 2 (n - 1) x (latency + bytes / (n x link))",
            f"{self.all_reduces} * 2 * ({count} - 1) * {message}",
        )
