"""Layer conv1 by hls4ml: what its C simulation gave for one image, and how to make it again.

hls4ml turns a layer into C++ with fixed-point numbers, which Vitis HLS would turn into a circuit.
g++ alone can run that C++ ("C simulation"): bit-accurate, without clock cycles. Building takes
about 15 s for each number format, so that `tools/hls4ml_conv1.py` has stored the results. Lesson
a_convolution_as_a_stream compares them with the golden model.

A fixed-point number <bits, whole> has `bits` bits, `whole` of them before the point, the sign among
them: its step is 2^(whole - bits), a power of two, and the same for all channels.
"""

import hashlib
import json
import tempfile
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from labkit import convnet
from labkit.datasets import cifar10

IMAGE = 0  # of the sample's test images
OUTPUT = (32, 32, 32)  # channels, rows, columns
DATA = Path(__file__).parents[2] / "data"
STORED = "conv1.hls4ml.npz"
LOG = "conv1.hls4ml.log.jsonl"


@dataclass(frozen=True)
class Format:
    """The fixed-point numbers of a layer: (bits, whole) of each, and how they are rounded.

    rounded   to the nearest, and limited where they do not fit; hls4ml's own choice is to cut
              digits off and to wrap around
    """

    pixels: tuple[int, int]
    weights: tuple[int, int]
    bias: tuple[int, int]
    outputs: tuple[int, int]
    rounded: bool

    @property
    def step(self) -> float:
        """One step of the outputs."""
        bits, whole = self.outputs
        return 2.0 ** (whole - bits)

    def type(self, name: str) -> str:
        """The type of one kind of number, as hls4ml writes it."""
        bits, whole = getattr(self, name)
        ends = ",RND,SAT" if self.rounded else ""
        return f"fixed<{bits},{whole}{ends}>"


FORMATS = {
    "hls4ml, 8 bits, cut off": Format((8, 3), (8, 1), (16, 2), (8, 4), rounded=False),
    "hls4ml, 8 bits, rounded": Format((8, 3), (8, 1), (16, 2), (8, 4), rounded=True),
    "hls4ml, 16 bits": Format((16, 6), (16, 6), (16, 6), (16, 6), rounded=False),  # its default
}


@cache
def outputs() -> dict[str, np.ndarray]:
    """Format -> y[K,H,W] of conv1 and ReLU for the image, as real numbers, from the stored run."""
    with np.load(DATA / STORED) as stored:
        steps = {name: stored[key(name)] for name in FORMATS}
    for name, found in steps.items():
        if digest(found) != log()["outputs"][name]:
            raise ValueError(f"{STORED} is damaged: {name!r} is not what its log says.")
    return {name: found * FORMATS[name].step for name, found in steps.items()}


def in_steps(y: np.ndarray, scale: float) -> np.ndarray:
    """Real outputs after a ReLU as the golden model writes them: 0 to 127, in steps of `scale`."""
    return np.clip(np.floor(y / scale + 0.5), 0, 127).astype(np.int64)


def log() -> dict:
    """The log of the stored run."""
    return json.loads((DATA / LOG).read_text("utf-8"))


def run_again(name: str) -> np.ndarray:
    """Builds and runs one format anew: the outputs in its steps, int16[K,H,W]; about 15 s.

    Needs hls4ml, torch and g++.
    """
    import hls4ml
    import torch

    numbers = FORMATS[name]
    layer = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU()).eval()
    weights, pixels = given()
    with torch.no_grad():
        layer[0].weight.copy_(torch.from_numpy(weights["conv1.weight"]))
        layer[0].bias.copy_(torch.from_numpy(weights["conv1.bias"]))
    settings = hls4ml.utils.config_from_pytorch_model(
        layer,
        (3, 32, 32),
        granularity="name",
        backend="Vitis",
        channels_last_conversion="full",
        transpose_outputs=True,
    )
    image, convolution, relu = settings["LayerName"].values()
    image["Precision"]["result"] = numbers.type("pixels")
    convolution["Precision"]["weight"] = numbers.type("weights")
    convolution["Precision"]["bias"] = numbers.type("bias")
    relu["Precision"]["result"] = numbers.type("outputs")
    with tempfile.TemporaryDirectory() as folder:
        circuit = hls4ml.converters.convert_from_pytorch_model(
            layer,
            hls_config=settings,
            output_dir=folder,
            backend="Vitis",
            io_type="io_stream",  # pixel by pixel, through line buffers
        )
        circuit.compile()
        y = circuit.predict(pixels[None]).reshape(OUTPUT)
    return np.rint(y / numbers.step).astype(np.int16)


def given() -> tuple[dict[str, np.ndarray], np.ndarray]:
    """What goes in: the network's float weights, and the image, normalised float32[3,32,32]."""
    images = cifar10("sample").test.images[IMAGE : IMAGE + 1]
    return convnet.load_weights(), convnet.normalise(images)[0].astype(np.float32)


def write(folder: Path, steps: dict[str, np.ndarray]) -> None:
    """Stores the outputs of all formats, and their log."""
    weights, pixels = given()
    np.savez_compressed(folder / STORED, **{key(name): found for name, found in steps.items()})
    said = {
        "hls4ml": version("hls4ml"),
        "image": digest(pixels),
        "weights": digest(weights["conv1.weight"]),
        "formats": {name: asdict(numbers) for name, numbers in FORMATS.items()},
        "outputs": {name: digest(found) for name, found in steps.items()},
    }
    (folder / LOG).write_text(json.dumps(said) + "\n", encoding="utf-8")


def key(name: str) -> str:
    """The name of a format in the file."""
    return name.replace(", ", "_").replace(" ", "_")


def digest(array: np.ndarray) -> str:
    """SHA-256 over the bytes of an array."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
