"""How long simulation, synthesis, place and route, and a proof take: `make bench`.

    python benchmarks/fpga.py

Each is asked for without the cache, after one answer that warms the tools up: their first use on a
machine translates them for its processor. Seconds only inform; they go to results/fpga.json.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

os.environ.update(LABKIT_PROGRESS="off", LABKIT_OFFLINE="1")

import numpy as np
from table import Row, medians, report

from labkit.provenance import measured

DESIGNS = Path(__file__).resolve().parent.parent / "tests" / "fpga" / "designs"
TIMES = 3


def rows() -> Iterator[Row]:
    """Medians of three answers each, of a multiply-accumulate module of four lanes."""
    from labkit.fpga.prove import prove
    from labkit.fpga.synthesize import synthesize
    from labkit.fpga.timing import place_and_route

    design = DESIGNS / "multiply_add.sv"
    for engine in ("cxxrtl", "verilator"):
        (seconds,) = medians(edited(design, engine), times=TIMES)
        yield Row(f"edit to result, {engine}: multiply_add, 4 lanes", seconds, goal=5)
    goals = {  # seconds
        "synthesize, XC7Z020": (synthesize, 15),
        "place_and_route, ECP5": (place_and_route, 10),
        "prove, 20 cycles and induction": (prove, 5),
    }
    for what, (tool, goal) in goals.items():
        tool(design, "multiply_add")
        (seconds,) = medians(anew(lambda tool=tool: tool(design, "multiply_add")), times=TIMES)
        yield Row(f"{what}: multiply_add, 4 lanes", seconds, goal=goal)
    yield from of_the_accelerator()
    yield from of_the_board()
    yield from of_the_filter()


def of_the_accelerator() -> Iterator[Row]:
    """The whole network: a million simulated cycles of a job of 32 images, and its synthesis."""
    from labkit.fpga import synthesize
    from labkit.fpga.convnet.accelerator import Accelerator
    from labkit.fpga.library import library

    layers, images = network(32)
    with Accelerator() as accelerator:
        runs = []
        (taken,) = medians(lambda: runs.append(accelerator.run(layers, images)), times=TIMES)
    millions = float(runs[0].cycles) / 1e6
    per_million = measured(float(taken) / millions, "s")
    yield Row("simulate the accelerator for a million cycles, verilator", per_million, goal=0.5)
    (taken,) = medians(anew(lambda: synthesize(library("accelerator"), "accelerator")), times=1)
    yield Row("synthesize the accelerator, XC7Z020", taken, goal=60)


def of_the_board() -> Iterator[Row]:
    """The virtual board through pynq: one access of a register, and a frame there and back."""
    from labkit.fpga.board import VirtualBoard

    accesses, height, width = 200, 480, 640
    with VirtualBoard() as board:
        from pynq import Overlay, allocate

        overlay = Overlay(board.bitstream)
        dma, leds = overlay.axi_dma_0, overlay.leds_gpio
        there, back = (allocate((height, width), "u4") for _ in range(2))
        there[:] = np.arange(height * width, dtype=np.uint32).reshape(height, width)

        def read() -> None:
            for _ in range(accesses):
                leds.read(0)

        def frame() -> None:
            dma.recvchannel.transfer(back)
            dma.sendchannel.transfer(there)
            dma.sendchannel.wait()
            dma.recvchannel.wait()

        frame()
        (taken,) = medians(read, times=TIMES)
        each = measured(float(taken) / accesses, "s")
        yield Row("read a register of the virtual board through pynq", each, goal=0.0005)
        (taken,) = medians(frame, times=TIMES)
        yield Row("loopback of a frame, 640x480 words of 32 bits, pynq and DMA", taken, goal=0.05)
        if not np.array_equal(there, back):
            raise AssertionError("The frame did not come back as it went.")
        for buffer in (there, back):
            buffer.freebuffer()


def of_the_filter() -> Iterator[Row]:
    """A frame of a camera through a 3x3 filter on the virtual board, from array to array."""
    from labkit.fpga.board import VirtualBoard, designs

    height, width, shift = 480, 640, 3
    random = np.random.default_rng(0)
    frame = random.integers(0, 256, (height, width))
    taps = random.integers(-8, 9, (3, 3))
    with VirtualBoard(designs.filter_3x3(height, width)) as board:
        from pynq import Overlay, allocate

        overlay = Overlay(board.bitstream)
        dma = overlay.axi_dma_0
        overlay.filter_3x3_0.write(0, np.array([*taps.ravel(), shift], "i4").tobytes())
        with allocate((height, width), "u1") as there, allocate((height, width), "u1") as back:

            def filtered() -> np.ndarray:
                there[:] = frame
                dma.recvchannel.transfer(back)
                dma.sendchannel.transfer(there)
                dma.sendchannel.wait()
                dma.recvchannel.wait()
                return np.array(back)

            result = filtered()
            (taken,) = medians(filtered, times=25)
    yield Row("3x3 filter of a frame, 640x480 bytes, pynq and DMA, end to end", taken, goal=0.05)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(frame, 1), (3, 3))
    sums = (windows * taps).sum(axis=(2, 3))
    if not np.array_equal(result, np.clip((sums + (1 << shift - 1)) >> shift, 0, 255)):
        raise AssertionError("The filtered frame is not that of NumPy.")


def network(images: int) -> tuple[tuple, np.ndarray]:
    """The quantised network's layers, and so many test photographs."""
    from labkit import convnet
    from labkit.datasets import cifar10
    from labkit.fpga import quantize

    data = cifar10()
    quantized = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:500]))
    return quantized.layers, quantized.to_int8(data.test.images[:images])


def edited(design: Path, engine: str) -> Callable[[], object]:
    """A call of `simulate` on a source that no cache knows, as after an edit of the learner's."""
    from labkit.fpga import simulate

    text = design.read_text()
    edits = count()

    def ask() -> object:
        source = f"{text}\n// edit {next(edits)} of {os.getpid()}\n"
        return simulate(source, "multiply_add", {"in": list(range(100))}, engine)

    return ask


def anew(call: Callable[[], object]) -> Callable[[], object]:
    """The same call, which finds an empty cache."""

    def ask() -> object:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LABKIT_CACHE"] = folder
            return call()

    return ask


if __name__ == "__main__":
    sys.exit(report("fpga", rows()))
