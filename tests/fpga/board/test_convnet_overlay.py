"""`ConvNetOverlay`: photographs bit by bit in several jobs, and what it refuses."""

from textwrap import dedent

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")
BEGINNING = """
from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga.convnet.accelerator_parameters import Folding
from labkit.fpga.board.convnet_overlay import ConvNetOverlay
from labkit.fpga.quantize import quantize

data = cifar10("sample")
network = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:200]))
photographs = data.test.images[:40]
"""


def printed_by(code: str) -> list[str]:
    """The lines that code prints after BEGINNING."""
    return run_python(BEGINNING + dedent(code)).splitlines()


@pytest.mark.night(
    instead="tests/fpga/board/test_convnet_overlay.py::"
    "test_an_overlay_that_was_there_before_and_resident_weights"
)
def test_forty_photographs_in_several_jobs():
    lines = printed_by("""
        with VirtualBoard(designs.convnet()) as board:
            overlay = ConvNetOverlay(board.bitstream, network)
            wanted = network.logits(photographs)
            print(np.array_equal(overlay.logits(photographs), wanted), overlay.jobs)
            print(int(overlay.cycles) < 68_000 * 40, overlay.cycles.word)
            print(type(overlay.accelerator).__name__, overlay.folding == Folding())
            small = ConvNetOverlay(overlay._overlay, network, job_bytes=4 << 20)
            given = network.to_int8(photographs[:9])
            print(np.array_equal(small.predict(given), wanted[:9].argmax(axis=1)), small.jobs)
            print(len(board.machine.memory._buffers))
    """)
    assert lines == ["True 2", "True counted", "AcceleratorDriver True", "True 2", "0"]


def test_an_overlay_that_was_there_before_and_resident_weights():
    lines = printed_by("""
        folding = Folding(conv1=2, conv2=2, fc1=16, resident=True)
        with VirtualBoard(designs.convnet(folding)) as board:
            from pynq import Overlay
            before = Overlay(board.bitstream)
            print(type(before.accelerator_0).__name__)
            overlay = ConvNetOverlay(before, network)
            print(overlay.folding == folding)
            print(np.array_equal(overlay.logits(photographs), network.logits(photographs)))
            print(overlay.jobs)
    """)
    assert lines == ["DefaultIP", "True", "True", "1"]


def test_what_it_refuses():
    lines = printed_by("""
        other = designs.convnet(Folding(conv1=2))
        small = designs.convnet(shapes=designs.Shapes(side=16, conv1=16, conv2=16, fc1=32))
        with VirtualBoard(designs.convnet(), other, small, designs.loopback()) as board:
            from pynq import Overlay
            overlay = ConvNetOverlay(board.bitstreams[0], network)
            print(told(lambda: overlay.predict(photographs.astype(float))))
            print(told(lambda: overlay.predict(photographs[0])))
            print(told(lambda: overlay.predict(photographs[:0])))
            print(told(lambda: ConvNetOverlay(overlay._overlay, network, job_bytes=1000)))
            overlay.accelerator.start(1)
            print(told(lambda: overlay.predict(photographs)))
            overlay.accelerator.reset()
            print(np.array_equal(overlay.logits(photographs[:2]), network.logits(photographs[:2])))
            Overlay(board.bitstreams[0])
            print(np.array_equal(overlay.logits(photographs[:2]), network.logits(photographs[:2])))
            Overlay(board.bitstreams[1])
            print(told(lambda: overlay.predict(photographs)))
            again = ConvNetOverlay(board.bitstreams[1], network)
            print(np.array_equal(again.logits(photographs[:2]), network.logits(photographs[:2])))
            print(told(lambda: ConvNetOverlay(board.bitstreams[2], network)))
            print(told(lambda: ConvNetOverlay(board.bitstreams[3], network)))
    """)
    for line, words in zip(
        lines,
        [
            "the images hold float64: give uint8 pixels",
            "one image is a batch of one",
            "at least one image is needed",
            "more than the 1,000 that are allowed",
            "busy with a job that somebody else has started",
            "True",
            "True",
            "another bitstream was loaded meanwhile",
            "True",
            "Build an accelerator with its shapes",
            "exactly one IP labkit:rtl:accelerator, and this overlay has 0",
        ],
        strict=True,
    ):
        assert words in line
