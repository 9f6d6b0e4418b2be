"""Occupancy: how many blocks of a kernel one multiprocessor (SM) holds at a time, and why no more.

A block comes to an SM whole, with all its warps, registers and shared memory. How many fit is the
least of four numbers; the warps that are then there, of those that could be, are the occupancy.
"""

from dataclasses import dataclass
from math import prod
from numbers import Integral

from labkit.figures.style import CARD, ORANGE, SKY, canvas, show
from labkit.provenance import Quantity, predicted

SOURCE = "CUDA Programming Guide, technical specifications; units: cuda_occupancy.h of CUDA 13"
LIMITS = {"sm_75": (32, 16, 64), "sm_80": (64, 32, 164), "sm_86": (48, 16, 100)}
LIMITS |= {"sm_87": (48, 16, 164), "sm_89": (48, 24, 100), "sm_90": (64, 32, 228)}
LIMITS |= {"sm_100": (64, 32, 228), "sm_103": (64, 32, 228)}  # of an SM: warps, blocks, KiB shared
PARTS, REGISTERS, UNIT = 4, 2**14, 256  # of an SM; of a part; of a warp, in multiples of UNIT


def occupancy(
    registers: object, shared_bytes: int = 0, threads: int | None = None, arch: str | None = None
) -> "Occupancy":
    """`occupancy(report, threads)` or `occupancy(registers, shared_bytes, threads, arch)`.

    `registers` are those of a thread, the others those of a block; a CompileReport has them. What
    does not fit has 0 blocks. ValueError for numbers that no launch has, an `arch` that is unknown
    or not the report's. Without `arch` numbers are judged for sm_80.
    """
    if hasattr(report := registers, "shared_bytes"):
        threads = shared_bytes if threads is None else threads
        if arch not in (None, report.arch):
            raise ValueError(f"The report is for {report.arch}: compile the kernel for {arch}.")
        registers, shared_bytes, arch = report.registers, report.shared_bytes, report.arch
    arch = arch or "sm_80"
    if arch not in LIMITS:
        raise ValueError(f"The limits of {arch!r} are not known here, but {', '.join(LIMITS)}.")
    threads = prod(threads) if isinstance(threads, tuple | list) else threads
    ranges = {"threads": (threads, 1, 1024), "registers": (registers, 1, 255)}
    ranges["bytes of shared memory"] = shared_bytes, 0, 2**20
    for what, (n, low, high) in ranges.items():
        if isinstance(n, bool) or not isinstance(n, Integral) or not low <= n <= high:
            raise ValueError(f"The {what} are {n!r}, but must be from {low} to {high:,}.")
    most_warps, most_blocks, kib = LIMITS[arch]
    warps = -(-threads // 32)
    fit = REGISTERS // (-(-32 * registers // UNIT) * UNIT) * PARTS  # warps; each lies in one part
    limits = {"warps": most_warps // warps, "blocks": most_blocks, "registers": fit // warps}
    unit, kept = (256, 0) if arch == "sm_75" else (128, 1024)  # CUDA keeps 1 KiB of each block
    if shared := -(-(shared_bytes + kept) // unit) * unit:
        limits["shared memory"] = kib * 1024 // shared
    blocks = min(limits.values())
    limiter = " and ".join(name for name, n in limits.items() if n == blocks)
    return Occupancy(arch, threads, blocks, blocks * warps, limits, limiter)


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
        return predicted(100 * self.warps / LIMITS[self.arch][0], "%", f"the limits of {self.arch}")

    def __repr__(self) -> str:
        each = ", ".join(f"{name} {n}" for name, n in self.limits.items())
        size = f"{self.blocks} blocks of {self.threads} threads, {self.warps} warps, on an SM"
        return (
            f"{size}: {self.share}.\nLimited by {self.limiter}. Each limit allows blocks: {each}."
        )

    def draw(self) -> None:
        """The blocks that each limit allows, one box each; the least of them is orange."""
        figure, axes = canvas(7.5, 2.2)
        most = LIMITS[self.arch][1]
        for y, n in enumerate(self.limits.values()):
            colour = ORANGE if n == self.blocks else SKY
            for x in range(min(n, most)):  # filled, if that many blocks are there
                fill = colour if x < self.blocks else CARD
                axes.broken_barh([(x, 0.85)], (y - 0.35, 0.7), facecolor=fill, edgecolor=colour)
            note = ", the limit" if n == self.blocks else ", cut here" if n > most else ""
            axes.text(min(n, most) + 0.3, y, f"{n}{note}", va="center")
        axes.set(yticks=range(len(self.limits)), yticklabels=self.limits, xticks=[])
        axes.set(xlim=(0, 1.2 * most), ylim=(len(self.limits) - 0.4, -0.6))
        axes.set_xlabel("blocks that each limit allows; filled: those that are there", fontsize=9)
        axes.spines["bottom"].set_visible(False)
        axes.set_title(f"{self.arch}: {self.blocks} blocks, limited by {self.limiter}", loc="left")
        show(figure, f"Occupancy of one SM of {self.arch}: {self}")
