"""The accelerator as an overlay: photographs by plain pynq calls, bit by bit, and its registers."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_twenty_photographs_bit_by_bit():
    printed = run_python("""
        from labkit import convnet
        from labkit.datasets import cifar10
        from labkit.fpga.convnet.accelerator_words import job_words, logits
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


def test_jobs_that_cannot_end_and_one_that_is_cut_off():
    printed = run_python("""
        from labkit import convnet
        from labkit.datasets import cifar10
        from labkit.fpga.convnet.accelerator_words import job_words
        from labkit.fpga.quantize import quantize

        data = cifar10("sample")
        network = quantize(convnet.load_weights(), convnet.normalise(data.train.images[:200]))
        words = job_words(network.layers, network.to_int8(data.test.images[:1]))
        with VirtualBoard(designs.convnet()) as board:
            from pynq import Overlay, allocate

            job, results = allocate(len(words), "u8"), allocate(5, "u8")
            job[:] = words

            def fresh(started):
                overlay = Overlay(board.bitstream)
                if started:
                    overlay.accelerator_0.write(0x00, 1)
                return overlay.accelerator_0, overlay.axi_dma_0

            ip, dma = fresh(started=False)
            dma.recvchannel.transfer(results)
            dma.sendchannel.transfer(job)
            print(told(dma.sendchannel.wait))
            print(told(dma.recvchannel.wait))
            ip.write(0x00, 1)  # late, but all is well from here on
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            print(dma.recvchannel.transferred, ip.register_map.STATUS.DONE)

            ip, dma = fresh(started=True)
            dma.recvchannel.transfer(results)
            print(told(dma.recvchannel.wait))

            ip, dma = fresh(started=True)
            dma.sendchannel.transfer(job)
            print(told(dma.sendchannel.wait))

            ip, dma = fresh(started=True)
            dma.recvchannel.transfer(results)
            dma.sendchannel.transfer(job, nbytes=8 * 1000)
            dma.recvchannel.wait()
            print(dma.recvchannel.transferred, ip.register_map.STATUS.TOO_SHORT)
    """)
    not_started, nothing_back, late, no_data, nobody_takes, cut_off = printed.splitlines()
    assert "accelerator has taken 0 of 68,892 words" in not_started
    assert "Either a register has to start it first" in not_started
    assert "accelerator has given 0 of 40 bytes" in nothing_back
    assert late == "40 1"
    assert "nothing was sent to it" in no_data
    assert nobody_takes == "nothing" or "call recvchannel.transfer(buffer)" in nobody_takes
    assert cut_off == "8 1"
