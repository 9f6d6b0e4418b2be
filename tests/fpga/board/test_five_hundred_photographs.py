"""All test photographs through `ConvNetOverlay` on a virtual board: bit by bit, and on the board.

That the logits are right does not show who computed them: the golden model stands beside, in the
same process. So the cycle register and the bytes that the DMA moved have to be those of the work.
"""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.convnet.accelerator_cycles import stream_beats
from labkit.fpga.convnet.accelerator_words import BYTES, WORDS_PER_IMAGE, Folding
from labkit_lessons.fpga.folding_under_a_budget.accelerator_timeline import job_cycles
from tests.fpga.board.pynq_process import run_python
from tests.night import others_by_night

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")
SCRIPT = """
from labkit import convnet
from labkit.datasets import cifar10
from labkit.fpga.board.convnet_overlay import ConvNetOverlay
from labkit.fpga.quantize import quantize

class Cheat(ConvNetOverlay):
    def _job(self, images):
        return self._network.logits(images)

data = cifar10("sample")
network = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:500]))
photographs = data.test.images[:{count}]
with VirtualBoard(designs.convnet()) as board:
    overlay = {kind}(board.bitstream, network)
    overlay.accelerator.reset()
    print(np.array_equal(overlay.logits(photographs), network.logits(photographs)))
    print(overlay._images, int(overlay.cycles))
    for channel in ("send channel", "receive channel"):
        ends = [event for event in board.traffic if (event.where, event.kind) == (channel, "ends")]
        print(sum(int(event.what.split()[0].replace(",", "")) for event in ends))
"""


def run(kind: str, count: int) -> tuple[str, tuple[int, ...]]:
    """Whether the logits are equal; images in a job, cycles, bytes sent, bytes received."""
    equal, *numbers = run_python(SCRIPT.format(kind=kind, count=count)).split()
    return equal, tuple(map(int, numbers))


@pytest.mark.parametrize(
    "count",
    others_by_night(
        [12, 500],
        instead="tests/fpga/board/test_five_hundred_photographs.py::test_photographs_bit_by_bit_by_the_circuit",
    ),
)
def test_photographs_bit_by_bit_by_the_circuit(count):
    equal, (per_job, cycles, sent, received) = run("ConvNetOverlay", count)
    assert equal == "True"
    jobs = [min(per_job, count - first) for first in range(0, count, per_job)]
    assert per_job >= 16 and sum(jobs) == count
    predicted = sum(float(job_cycles(Folding(), images)) for images in jobs)
    assert abs(cycles / predicted - 1) < 0.02
    assert sent == sum(BYTES * stream_beats(Folding(), images) for images in jobs)
    assert received == BYTES * WORDS_PER_IMAGE * count


@pytest.mark.night(
    instead="tests/fpga/board/test_five_hundred_photographs.py::"
    "test_photographs_bit_by_bit_by_the_circuit"
)
def test_an_overlay_that_computes_in_python_leaves_no_such_trace():
    """Right logits, and nothing else: this is what the numbers above refuse."""
    assert run("Cheat", 2) == ("True", (31, 0, 0, 0))
