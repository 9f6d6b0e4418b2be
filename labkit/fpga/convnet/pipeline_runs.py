"""The accelerator watched from inside: which layer works in which cycle. And its stream, made anew.

    run = watch(golden.layers, images, value_queue=2)
    run.cycles, run.working["fc1"]

`testbenches/watched_network.sv` is the accelerator without its registers. Lesson
the_network_as_a_pipeline.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labkit.fpga.convnet.accelerator_parameters import Folding, Shapes
from labkit.fpga.convnet.accelerator_words import (
    CONV2_CHANNEL_LANES,
    beats,
    job_words,
    logits,
    sections,
)
from labkit.fpga.integers.integer_layers import IntegerLayer
from labkit.fpga.library import library
from labkit.fpga.simulate import simulate
from labkit.fpga.sources import RTL, read_sources
from labkit.fpga.toolchain.models import compiled
from labkit.provenance import Quantity, counted

TOP = "watched_network"
VALUE_QUEUES = (2, 512)  # of the lesson
BESIDE = ("convnet", "section_router", "stream_header", "job_control")
_LAST_PORT = "output logic [63:0] y_data\n);"
_MORE_PORTS = "output logic [63:0] y_data,\n  output logic [2:0]  moves,\n  output logic values\n);"
_MOVES = """
  assign moves[0] = conv1_valid && conv1_ready;
  assign moves[1] = conv2_valid && conv2_ready;
  assign moves[2] = fc1_weights_valid && fc1_weights_ready;
  assign values   = pool2_valid && pool2_ready;

endmodule
"""


@dataclass(frozen=True, eq=False)
class WatchedRun:
    """A job, and what went on inside.

    logits    int32[N,10]
    cycles    as the register CYCLES counts them, from the start to the last result
    working   "conv1", "conv2", "fc1" -> for each cycle the work that ended in it, in cycles: a
              word that conv2 hands over is the work of four
    values    the cycles in which pool2 hands over a value
    """

    logits: np.ndarray
    cycles: Quantity
    working: dict[str, np.ndarray]
    values: np.ndarray


def watch(
    layers: Sequence[IntegerLayer],
    images: np.ndarray,
    value_queue: int = 512,
    shapes: Shapes | None = None,
) -> WatchedRun:
    """One job of int8 images[N,3,H,W], with the slowest folding.

    value_queue   how many values the queue between pool2 and fc1 holds: a power of two
    """
    shapes = shapes or Shapes()
    run = simulate(
        _sources(),
        TOP,
        {"images": len(images), "s": job_words(layers, images, Folding(), shapes)},
        "verilator",
        parameters=_parameters(value_queue, shapes),
    )
    moves = np.asarray(run.trace["moves"])
    per_word = {"conv1": 1, "conv2": shapes.conv1 // CONV2_CHANNEL_LANES, "fc1": 1}
    return WatchedRun(
        logits=logits(np.asarray(run.outputs["y"], np.uint64)),
        cycles=counted(int(run.trace["cycles"][-1]) + 1, "cycles", "the accelerator"),
        working={
            name: (moves >> place & 1) * cycles
            for place, (name, cycles) in enumerate(per_word.items())
        },
        values=np.flatnonzero(run.trace["values"]),
    )


def prepare() -> None:
    """Compiles what the lesson watches, unless the cache has it."""
    sources = read_sources(_sources(), TOP)
    for value_queue in VALUE_QUEUES:
        compiled(sources, "verilator", _parameters(value_queue, Shapes()))


def job(layers: Sequence[IntegerLayer], images: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The stream of a job, beats[.], with columns[inputs, outputs] (int8) as the weights of fc1.

    columns   a row for each input, in the order in which the inputs come

    Raises ValueError for columns that are not as large as fc1, or not int8.
    """
    shapes = Shapes()
    K, D = shapes.weights["fc1"]
    if columns.shape != (D, K) or columns.dtype != np.int8:
        raise ValueError(
            f"fc1 wants int8 weights [{D}, {K}], a row for each input; these are "
            f"{columns.dtype} {list(columns.shape)}."
        )
    words = job_words(layers, images)
    parts = sections(layers, Folding(), shapes)
    weights, rest = len(parts["fc1 weights"]), len(parts["fc2 weights"])
    picture = shapes.side**2 // 2
    end = len(words)  # of the weights for an image; the next image comes before them
    for _ in images:
        words[end - rest - weights : end - rest] = beats(columns)
        end -= rest + weights + (picture if end < len(words) else 0)
    return words


def phases(run: WatchedRun, layer: str) -> list[int]:
    """The cycles of a run before a layer's first work, of its work, of its rests, after its last.

    Together they are all cycles.
    """
    work = run.working[layer]
    busy = np.flatnonzero(work)
    before = int(busy[0])
    works = int(work.sum())
    rests = int(busy[-1]) + 1 - before - works
    return [before, works, rests, int(run.cycles) - before - works - rests]


def _parameters(value_queue: int, shapes: Shapes) -> dict[str, int]:
    return shapes.parameters | {"VALUE_QUEUE": value_queue}


def _sources() -> list[Path | str]:
    """The testbench, and the accelerator's files, with a `convnet` that shows more."""
    text = (RTL / "convnet.sv").read_text("utf-8")
    shows = text.replace(_LAST_PORT, _MORE_PORTS).replace("\nendmodule\n", _MOVES)
    bench = Path(__file__).parents[1] / "testbenches" / f"{TOP}.sv"
    return [bench, *library(*BESIDE, own={"convnet": shows})]
