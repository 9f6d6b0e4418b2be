"""Pictures of what a training step costs: from memory to the units, a batch under the roofline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from labkit.figures.shapes import arrow, bare, box, write
from labkit.figures.style import BLUE, CARD, INK, ORANGE, PALE, QUIET, SKY, canvas, show
from labkit.hardware import machine

if TYPE_CHECKING:
    from labkit.hardware import Machine
    from labkit.tpu.compiler import Compiled

# Google's page says 16 GB; as the compiler leaves 15.75 GiB, more than 16e9 B, GiB are meant.
HBM = "16 GiB"
# How to Scale Your Model, chapter 2, How to Think About TPUs: of a v5e.
VMEM = "128 MiB"
VMEM_OVER_HBM = 22  # times the bandwidth
BYTES = 2  # of a number in bfloat16


def road() -> None:
    """From HBM to VMEM to the matrix units and the vector unit of a v5e, with sizes and rates."""
    chip = machine("tpu_v5e")
    figure, axes = canvas(7.5, 2.6)
    rate = chip.bandwidth.number
    peak = chip.rate("bf16").number
    box(axes, 3.4, 0.1, 6.5, 3.2, CARD, edge=QUIET, linewidth=1.0, linestyle="--")
    axes.text(3.55, 3.12, "the chip", color=QUIET, fontsize=9, va="top")
    parts = (
        (0.1, 1.0, 1.8, 1.4, PALE, f"HBM\n{HBM}"),
        (3.7, 1.0, 1.8, 1.4, SKY, f"VMEM\n{VMEM}"),
        (7.5, 1.85, 2.2, 1.2, BLUE, f"matrix units\n{peak}"),
        (7.5, 0.35, 2.2, 1.2, "#f6d7ae", "vector unit\nReLU, pools, sums"),
    )
    for part in parts:
        box(axes, *part, ink=CARD if BLUE in part else INK, edge="none")
    for start, end in (
        ((1.95, 1.7), (3.65, 1.7)),
        ((5.55, 1.9), (7.45, 2.45)),
        ((5.55, 1.5), (7.45, 0.95)),
    ):
        arrow(axes, start, end, "<->", linewidth=1.5, shrinkA=2, shrinkB=2)
    write(axes, 2.65, 1.85, rate, 9, va="bottom")
    write(axes, 6.3, 1.7, f"{VMEM_OVER_HBM} x faster", 9)
    source = "published; VMEM in How to Scale Your Model, chapter 2"
    axes.text(0.1, -0.25, source, color=QUIET, fontsize=8, va="center")
    bare(axes, (0, 10), (-0.4, 3.4))
    show(
        figure,
        f"The road from memory to the units of a TPU v5e: from HBM ({HBM}) at {rate} to VMEM "
        f"({VMEM}) on the chip, and from there, {VMEM_OVER_HBM} times faster, to the matrix units "
        f"({peak}) or to the vector unit; results go back the same way. All figures are published.",
    )


def attainable(chip: Machine, B: np.ndarray, K: int, N: int) -> np.ndarray:
    """The roof in FLOP/s of [B,K] x [K,N] in bfloat16, where each array crosses HBM once."""
    flop = 2 * B * K * N
    numbers = B * K + K * N + B * N
    fed_by_memory = flop / (BYTES * numbers) * float(chip.bandwidth)
    return np.minimum(float(chip.rate("bf16")), fed_by_memory)


def batch_roofline(
    chip: Machine, weights: tuple[int, int], answers: Mapping[int, Compiled], critical: float
) -> None:
    """The roof over the batch, the critical batch, and the compiler's estimates of some batches.

    `answers` has for each batch B what the compiler says of [B,K] x [K,N]; `weights` is (K, N).
    """
    K, N = weights
    batches = np.array(sorted(answers))
    roof = attainable(chip, batches, K, N) / 1e12
    estimates = np.array([2 * B * K * N / float(answers[B].seconds) for B in batches]) / 1e12
    figure, axes = canvas(7.5, 3.4)
    x = np.geomspace(batches[0] / 1.3, 1.3 * batches[-1], 300)
    axes.loglog(x, attainable(chip, x, K, N) / 1e12, color=BLUE, label="roofline, predicted")
    axes.plot(batches, estimates, "o", color=ORANGE, label="by the compiler's cycles, predicted")
    if np.isfinite(critical):
        axes.axvline(critical, color=QUIET, linewidth=1, linestyle=":")
        said = f"critical batch {critical:.0f} "
        axes.text(critical, roof[0], said, ha="right", va="bottom", fontsize=9)
    axes.set_xticks(batches, [f"{B:,}" for B in batches])
    ticks = [10, 20, 50, 100, 200]
    axes.set_yticks(ticks, [f"{tick}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(f"batch B of [B, {K}] x [{K}, {N}]")
    axes.set_ylabel("TFLOP/s")
    axes.set_title(f"{chip.name}, bfloat16", fontsize=10)
    axes.legend(loc="lower right", fontsize=9)
    both = zip(batches, roof, estimates, strict=True)
    said = "; ".join(f"batch {B:,}: roof {r:.0f}, estimate {e:.0f}" for B, r, e in both)
    show(
        figure,
        f"The roofline of {chip.name} over the batch, in TFLOP/s. {said}. "
        f"The critical batch is {critical:.0f}.",
    )
