"""What others published of networks on the Pynq boards, and what ours would reach there.

    DESIGNS["cnv_w1a1"].rate            # 3,050 images/s (published in Xilinx BNN-PYNQ, ...)
    predicted_rate(job_cycles(folding, 16), images=16)

The figures and their sources are in `published.toml`. Nothing here was measured on a board of ours:
what follows from counted cycles is predicted, at an assumed clock. Lesson folding_under_a_budget.
"""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from labkit.provenance import Quantity, predicted, published

CLOCK = 100e6  # Hz, assumed: PYNQ's usual clock; no timing tool was asked for this design on a Zynq
IMAGES = ("CIFAR-10", "MNIST")  # tasks whose inputs are images
WORDS = ("name", "board", "task", "images")
UNITS = {  # that of a rate depends on the task
    "latency": "s",
    "accuracy": "%",
    "lut": "LUT",
    "ff": "FF",
    "bram36": "BRAM36",
    "dsp": "DSP",
    "power": "W",
    "energy": "mJ",
}


@dataclass(frozen=True)
class Design:
    """A published network on a board; what its source does not say is None.

    images    how the images, or inputs of another kind, of `rate` follow one another
    rate      images, or inferences of another kind, per second
    latency   of a single one
    accuracy  percent on the test set of `task`
    power     of the whole board
    energy    per inference, of the whole board
    """

    name: str
    board: str
    task: str
    images: str = ""
    rate: Quantity | None = None
    latency: Quantity | None = None
    accuracy: Quantity | None = None
    lut: Quantity | None = None
    ff: Quantity | None = None
    bram36: Quantity | None = None
    dsp: Quantity | None = None
    power: Quantity | None = None
    energy: Quantity | None = None


@dataclass(frozen=True)
class Prediction:
    """What a board would reach with so many cycles, at an assumed clock. All of it is predicted.

    rate      images per second
    latency   of the whole job, s
    energy    per image, mJ: the board's power for this time
    """

    rate: Quantity
    latency: Quantity
    energy: Quantity


def predicted_rate(
    cycles: float | Quantity, hertz: float = CLOCK, images: int = 1, power: Quantity | None = None
) -> Prediction:
    """What a Pynq board would reach with a job of `images` that takes `cycles`.

    power   of the whole board, W; else that of FINN's CNV on a Pynq-Z2, published

    The processor's own time is not counted. Raises ValueError for what is not above 0.
    """
    if not (float(cycles) > 0 and hertz > 0 and images > 0):
        raise ValueError("A job has cycles, a clock and images, each above 0.")
    watts = power or DESIGNS[POWER_OF].power
    seconds = float(cycles) / hertz
    power_of = watts.origin.partition(", https://")[0]
    by = f"cycles / an assumed clock of {hertz / 1e6:g} MHz"
    return Prediction(
        rate=predicted(images / seconds, "images/s", by),
        latency=predicted(seconds, "s", by),
        energy=predicted(
            1e3 * float(watts) * seconds / images,
            "mJ",
            f"{by}, times {float(watts):.3g} W of a whole board ({power_of})",
        ),
    )


def _read() -> dict[str, Design]:
    """The designs of the table, by their keys."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    said = {key: f"{row['title']}, {row['url']}" for key, row in table["sources"].items()}
    designs = {}
    for key, row in table["designs"].items():
        rates = "images/s" if row["task"] in IMAGES else "inferences/s"
        fields = {
            name: published(figure["value"], UNITS.get(name, rates), said[figure["source"]])
            for name, figure in row.items()
            if name not in WORDS
        }
        designs[key] = Design(**fields, **{name: row.get(name, "") for name in WORDS})
    return designs


DESIGNS = _read()
POWER_OF = "finn_cnv_w1a1"  # the design whose board's power is taken for ours
