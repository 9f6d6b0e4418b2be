"""The accelerator as an overlay: photographs by plain pynq calls, bit by bit, and its registers."""

import pytest

from labkit.fpga.board import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_twenty_photographs_bit_by_bit():
    printed = run_python("""
        from labkit import convnet
        from labkit.datasets import cifar10
        from labkit.fpga.accelerator_words import job_words, logits
        from labkit.fpga.quantize import quantize

        data = cifar10("sample")
        network = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:200]))
        images = network.to_int8(data.test.images[:20])
        with VirtualBoard(designs.convnet()) as board:
            from pynq import Overlay, allocate
            overlay = Overlay(board.bitstream)
            ip, dma = overlay.accelerator_0, overlay.axi_dma_0
            words = job_words(network.layers, images)
            job = allocate(len(words), "u8")
            results = allocate(5 * len(images), "u8")
            job[:] = words
            ip.register_map.IMAGES = len(images)
            ip.register_map.CONTROL.START = 1
            print(repr(ip.register_map.STATUS))
            dma.recvchannel.transfer(results)
            dma.sendchannel.transfer(job)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            print(np.array_equal(logits(np.array(results)), network.logits(images)))
            print(repr(ip.register_map.STATUS))
            print(ip.read(0x10) == len(words), ip.read(0x14))
            print(ip.read(0x0C) < 68_000 * len(images), ip.read(0x0C) < board.cycle)
            print(told(lambda: ip.read(0x20)))
            print(told(lambda: ip.write(0x0C, 1)))
            print(told(lambda: ip.read(0x40)))
    """)
    lines = printed.splitlines()
    bits = "START_WHILE_BUSY=0, NO_IMAGES=0, OTHER_NETWORK=0, TOO_SHORT=0, TOO_LONG=0"
    assert lines[0] == f"Register(BUSY=1, DONE=0, {bits})"
    assert lines[1] == "True"
    assert lines[2] == f"Register(BUSY=0, DONE=1, {bits})"
    assert lines[3] == "True 100"
    assert lines[4] == "True True"
    assert "offset 0x20 answers SLVERR" in lines[5]
    assert "offset 0x0C answers SLVERR" in lines[6]
    assert "64 bytes of registers, and 0x40 is behind them" in lines[7]
