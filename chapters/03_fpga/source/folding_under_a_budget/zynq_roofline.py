"""The roofline of the accelerator on a Zynq, in multiply-adds per clock cycle.

    attainable [MAC/cycle] = min(multipliers, intensity [MAC/B] x stream [B/cycle])

A clock would scale both roofs alike, and none is needed. What a job reaches lies below: the layers
are stations of a pipeline, of which only the slowest has no idle multiplier. Lesson
folding_under_a_budget.
"""

from dataclasses import dataclass
from math import prod

from labkit.fpga.convnet import budget
from labkit.fpga.convnet.accelerator_cycles import layer_cycles, stream_beats
from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_report import multipliers_of
from labkit.fpga.convnet.accelerator_words import BYTES
from labkit.provenance import Quantity, counted, predicted
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import job_cycles

SHAPES_OF = "the shapes of the network"


def multiply_adds(shapes: Shapes | None = None) -> dict[str, int]:
    """Multiply-adds of one image in each layer: the weights times the pixels they are used at."""
    shapes = shapes or Shapes()
    pixels = {"conv1": shapes.side**2, "conv2": (shapes.side // 2) ** 2, "fc1": 1, "fc2": 1}
    return {name: pixels[name] * prod(shape) for name, shape in shapes.weights.items()}


@dataclass(frozen=True)
class Point:
    """A job on the roofline.

    intensity     multiply-adds per byte of the stream, the images and all weights that come
    stream_roof   multiply-adds per cycle that the stream feeds, 8 B per cycle
    compute_roof  one for each multiplier of the folding
    pipeline      what the layers would do if none ever waited for the stream: all multiply-adds
                  of an image in the cycles of the slowest layer
    reached       those of the job over its cycles
    """

    intensity: Quantity
    stream_roof: Quantity
    compute_roof: Quantity
    pipeline: Quantity
    reached: Quantity

    @property
    def attainable(self) -> float:
        """The lower of the two roofs, MAC per cycle."""
        return min(float(self.stream_roof), float(self.compute_roof))


def point(
    folding: Folding,
    images: int = 1,
    shapes: Shapes | None = None,
    cycles: Quantity | None = None,
) -> Point:
    """Where a job of a folding lies.

    cycles   of the job, if the simulation has counted them; else by formula
    """
    work = sum(multiply_adds(shapes).values())
    intensity = work * images / (BYTES * stream_beats(folding, images, shapes))
    taken = job_cycles(folding, images, shapes) if cycles is None else cycles
    rate = work * images / float(taken)
    unit = "MAC/cycle"
    return Point(
        intensity=counted(intensity, "MAC/B", f"{SHAPES_OF} and its stream"),
        stream_roof=predicted(BYTES * intensity, unit, "8 B per cycle times intensity"),
        compute_roof=counted(multipliers_of(folding), unit, "27 conv1 + 72 conv2 + fc1 + 8"),
        pipeline=predicted(
            work / max(layer_cycles(folding, shapes).values()), unit, "the slowest layer"
        ),
        reached=Quantity(rate, unit, taken.word, taken.source),
    )


def device_roof() -> Quantity:
    """One multiply-add per cycle in each DSP of the XC7Z020."""
    return predicted(float(budget.available("dsp")), "MAC/cycle", "one per DSP and cycle")
