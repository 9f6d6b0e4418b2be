"""The data movers: words, packets, odd sizes, and the protocol of their streams."""

import numpy as np
import pytest

from labkit.fpga.board.hardware.dma_driver import DmaRun
from labkit.fpga.board.hardware.wires import wires
from labkit.fpga.library import library
from labkit.fpga.sources import read_sources
from labkit.fpga.toolchain.models import compiled


@pytest.fixture
def run(request):
    width = getattr(request, "param", 32)
    model = compiled(read_sources(library("loopback"), "loopback"), "verilator", {"WIDTH": width})
    run = DmaRun(model, wires(model.ports))
    yield run
    run.free()


def there_and_back(run: DmaRun, sent: np.ndarray, got: np.ndarray) -> None:
    run.receive(got.ctypes.data, got.nbytes)
    run.send(sent.ctypes.data, sent.nbytes)
    assert run.advance(10_000, 100) == "ended"
    assert run.advance(10_000, 100) == "ended"


@pytest.mark.parametrize("run", [8, 16, 32, 64], indirect=True)
@pytest.mark.parametrize("size", [8, 64, 1000])
def test_bytes_come_back(run, size):
    sent = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8)
    got = np.zeros(size, np.uint8)
    there_and_back(run, sent, got)
    assert np.array_equal(sent, got)
    state = run.state()
    assert state.send.moved == state.receive.moved == size
    assert state.receive.last == 1 and state.violations == 0


def test_a_word_moves_in_every_cycle(run):
    sent = np.arange(500, dtype=np.uint32)
    there_and_back(run, sent, np.zeros_like(sent))
    assert run.state().cycle == 501


def test_the_last_word_may_be_a_part(run):
    sent = np.arange(1, 7, dtype=np.uint8)
    got = np.zeros(8, np.uint8)
    there_and_back(run, sent, got)
    assert list(got) == [1, 2, 3, 4, 5, 6, 0, 0]  # the module has no port for which bytes count


def test_nothing_is_written_behind_the_transfer(run):
    sent = np.full(4, 0xFFFF_FFFF, np.uint32)
    got = np.zeros(16, np.uint8)
    run.receive(got.ctypes.data, 6)
    run.send(sent.ctypes.data, sent.nbytes)
    run.advance(100, 100)
    run.advance(100, 100)
    assert run.state().receive.excess == 1
    assert list(got) == [255] * 6 + [0] * 10


def test_a_full_buffer_without_last_halts(run):
    """Not one word later: real data movers report it when their count is used up."""
    sent = np.arange(8, dtype=np.uint32)
    got = np.zeros(8, np.uint32)
    run.receive(got.ctypes.data, 12)
    run.send(sent.ctypes.data, sent.nbytes)
    while run.state().receive.running:
        run.advance(1, 100)
    state = run.state()
    assert (state.receive.moved, state.receive.last, state.receive.excess) == (12, 0, 1)
    assert list(got[:4]) == [0, 1, 2, 0]


def test_a_full_buffer_with_last_is_done(run):
    sent = np.arange(3, dtype=np.uint32)
    got = np.zeros(3, np.uint32)
    there_and_back(run, sent, got)
    state = run.state()
    assert (state.receive.moved, state.receive.last, state.receive.excess) == (12, 1, 0)


def test_without_a_receiver_it_stands_still(run):
    sent = np.zeros(100, np.uint32)
    run.send(sent.ctypes.data, sent.nbytes)
    assert run.advance(1000, 50) == "quiet"
    state = run.state()
    assert (state.send.beats, state.send.ready, state.receive.valid) == (16, 0, 1)
    cycle = state.cycle
    assert run.advance(1000, 50) == "quiet" and run.state().cycle == cycle
    run.stop(sending=True)
    assert run.state().send.running == 0
