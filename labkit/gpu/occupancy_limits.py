"""Occupancy: how many blocks of a kernel one multiprocessor (SM) holds at a time, and why no more.

A block comes to an SM whole, with all its warps, registers and shared memory. How many fit is the
least of four numbers; the warps that are then there, of those that could be, are the occupancy.
"""

from dataclasses import dataclass
from math import prod
from numbers import Integral
from typing import NamedTuple

from labkit.figures.style import CARD, ORANGE, SKY, canvas, show
from labkit.provenance import Quantity, predicted

SOURCE = "CUDA Programming Guide, technical specifications; units: cuda_occupancy.h of CUDA 13"
WARP = 32  # threads
PARTS = 4  # of an SM; each warp lies in one
REGISTERS = 2**14  # of a part
UNIT = 256  # registers of a warp come in multiples of it


class Limit(NamedTuple):
    """What one SM of an architecture holds, at most."""

    warps: int
    blocks: int
    shared_kib: int


LIMITS = {
    "sm_75": Limit(32, 16, 64),
    "sm_80": Limit(64, 32, 164),
    "sm_86": Limit(48, 16, 100),
    "sm_87": Limit(48, 16, 164),
    "sm_89": Limit(48, 24, 100),
    "sm_90": Limit(64, 32, 228),
    "sm_100": Limit(64, 32, 228),
    "sm_103": Limit(64, 32, 228),
}


class Multiprocessor(NamedTuple):
    """What one SM has for its blocks. (Lesson what_limits_a_kernel.)"""

    warps: int  # at a time
    blocks: int  # at a time
    registers: int  # of 4 bytes, for all threads together
    shared_bytes: int  # for all blocks together


def multiprocessor(arch: str) -> Multiprocessor:
    """What one SM of an architecture has, as "sm_86"; ValueError for one that is not known here."""
    limit = _limit(arch)
    return Multiprocessor(limit.warps, limit.blocks, PARTS * REGISTERS, limit.shared_kib * 1024)


def _limit(arch: str) -> Limit:
    if arch not in LIMITS:
        raise ValueError(f"The limits of {arch!r} are not known here, but {', '.join(LIMITS)}.")
    return LIMITS[arch]


def occupancy(
    registers: object, shared_bytes: int = 0, threads: int | None = None, arch: str | None = None
) -> "Occupancy":
    """`occupancy(report, threads)` or `occupancy(registers, shared_bytes, threads, arch)`.

    `registers` are those of a thread, the others those of a block; a CompileReport has them. What
    does not fit has 0 blocks. ValueError for numbers that no launch has, an `arch` that is unknown
    or not the report's. Without `arch` numbers are judged for sm_80.
    (Lesson what_limits_a_kernel.)
    """
    if hasattr(registers, "shared_bytes"):
        report = registers
        threads = shared_bytes if threads is None else threads
        if arch not in (None, report.arch):
            raise ValueError(f"The report is for {report.arch}: compile the kernel for {arch}.")
        registers = report.registers
        shared_bytes = report.shared_bytes
        arch = report.arch
    arch = arch or "sm_80"
    limit = _limit(arch)
    if isinstance(threads, tuple | list):
        threads = prod(threads)
    _check("threads", threads, 1, 1024)
    _check("registers", registers, 1, 255)
    _check("bytes of shared memory", shared_bytes, 0, 2**20)
    warps = _up(threads, WARP) // WARP
    limits = {
        "warps": limit.warps // warps,
        "blocks": limit.blocks,
        "registers": _warps_with(registers) // warps,
    }
    if shared := _shared_memory_of_block(shared_bytes, arch):
        limits["shared memory"] = limit.shared_kib * 1024 // shared
    blocks = min(limits.values())
    limiter = " and ".join(name for name, n in limits.items() if n == blocks)
    return Occupancy(arch, threads, blocks, blocks * warps, limits, limiter)


def _check(what: str, n: object, low: int, high: int) -> None:
    whole = isinstance(n, Integral) and not isinstance(n, bool)
    if not whole or not low <= n <= high:
        raise ValueError(f"The {what} are {n!r}, but must be from {low} to {high:,}.")


def _up(n: int, unit: int) -> int:
    """The next multiple of `unit` from n on."""
    return -(-n // unit) * unit


def _warps_with(registers: int) -> int:
    """How many warps of an SM find registers, if each thread takes so many."""
    return REGISTERS // _up(WARP * registers, UNIT) * PARTS


def _shared_memory_of_block(asked: int, arch: str) -> int:
    """Bytes of an SM that go to a block which asks for so many."""
    if arch == "sm_75":
        return _up(asked, 256)
    return _up(asked + 1024, 128)  # CUDA keeps 1 KiB of each block


@dataclass(frozen=True, repr=False)
class Occupancy:
    """What one SM holds. All numbers are predicted, by what SOURCE says."""

    arch: str
    threads: int  # of a block
    blocks: int  # on the SM at a time
    warps: int  # in them
    limits: dict[str, int]  # the blocks that each limit allows
    limiter: str  # the name of the least of them, or several names

    @property
    def share(self) -> Quantity:
        """Warps on the SM / the most that it can hold."""
        percent = 100 * self.warps / LIMITS[self.arch].warps
        return predicted(percent, "%", f"the limits of {self.arch}")

    def __repr__(self) -> str:
        each = ", ".join(f"{name} {n}" for name, n in self.limits.items())
        size = f"{self.blocks} blocks of {self.threads} threads, {self.warps} warps, on an SM"
        return (
            f"{size}: {self.share}.\nLimited by {self.limiter}. Each limit allows blocks: {each}."
        )

    def draw(self) -> None:
        """The blocks that each limit allows, one box each; the least of them is orange."""
        figure, axes = canvas(7.5, 2.2)
        most = LIMITS[self.arch].blocks
        for y, n in enumerate(self.limits.values()):
            self._draw_limit(axes, y, n, most)
        axes.set(yticks=range(len(self.limits)), yticklabels=self.limits, xticks=[])
        axes.set(xlim=(0, 1.2 * most), ylim=(len(self.limits) - 0.4, -0.6))
        axes.set_xlabel("blocks that each limit allows; filled: those that are there", fontsize=9)
        axes.spines["bottom"].set_visible(False)
        axes.set_title(f"{self.arch}: {self.blocks} blocks, limited by {self.limiter}", loc="left")
        show(figure, f"Occupancy of one SM of {self.arch}: {self}")

    def _draw_limit(self, axes, y: int, n: int, most: int) -> None:
        """A row of n boxes, cut at `most`; filled, if that many blocks are there."""
        is_least = n == self.blocks
        colour = ORANGE if is_least else SKY
        for x in range(min(n, most)):
            fill = colour if x < self.blocks else CARD
            axes.broken_barh([(x, 0.85)], (y - 0.35, 0.7), facecolor=fill, edgecolor=colour)
        note = ""
        if is_least:
            note = ", the limit"
        elif n > most:
            note = ", cut here"
        axes.text(min(n, most) + 0.3, y, f"{n}{note}", va="center")
