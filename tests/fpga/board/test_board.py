"""The whole board under the unmodified pynq: overlay, registers, buffers, DMA, LEDs, selftest."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_a_loopback_through_plain_pynq_calls():
    printed = run_python("""
        with VirtualBoard() as board:
            from pynq import MMIO, Clocks, Overlay, allocate
            overlay = Overlay(board.bitstream)
            print(sorted(overlay.ip_dict))
            print(Clocks.fclk0_mhz, Clocks.cpu_mhz)
            dma = overlay.axi_dma_0
            for count in (1, 2, 97, 1000):
                sent = allocate(count, "u4")
                got = allocate(count, "u4")
                sent[:] = np.random.default_rng(count).integers(0, 2**32, count)
                dma.sendchannel.transfer(sent)
                dma.recvchannel.transfer(got)
                dma.sendchannel.wait()
                dma.recvchannel.wait()
                print(np.array_equal(sent, got), dma.recvchannel.transferred)
            print(dma.register_map.S2MM_DMASR.Idle, dma.register_map.S2MM_DMASR.Halted)
            part = allocate(64, "u4")
            part[:] = range(64)
            got = allocate(16, "u4")
            dma.recvchannel.transfer(got)
            dma.sendchannel.transfer(part, start=16, nbytes=64)
            dma.sendchannel.wait()
            dma.recvchannel.wait()
            print(list(got) == list(range(4, 20)))
    """)
    lines = printed.splitlines()
    assert lines[0] == "['axi_dma_0', 'btns_gpio', 'leds_gpio', 'processing_system7_0']"
    assert lines[1] == "100.0 650.0"
    assert lines[2:6] == ["True 4", "True 8", "True 388", "True 4000"]
    assert lines[6:] == ["1 0", "True"]


def test_leds_and_buttons():
    printed = run_python("""
        with VirtualBoard(Design(designs.loopback().source, "loopback", leds=6)) as board:
            print(board.leds, told(lambda: board.press(0)))
            from pynq import Overlay
            overlay = Overlay(board.bitstream)
            leds = overlay.leds_gpio.channel1
            leds[0:4].write(0b0101)
            print(board.leds, leds[0].read())
            leds[5].on()
            leds[0].toggle()
            print(board.leds)
            buttons = overlay.btns_gpio.channel1
            print(buttons.read())
            board.press(1, 3)
            print(buttons.read(), buttons[3].read(), buttons[0].read())
            overlay.btns_gpio.write(0, 7)
            print(overlay.btns_gpio.read(0))
            print(told(lambda: board.press(4)))
    """)
    lines = printed.splitlines()
    assert lines[0] == "0 No bitstream is loaded, so no button is connected to anything."
    assert lines[1:] == [
        "5 1",
        "36",
        "0",
        "10 1 0",
        "10",
        "There is no button 4; there are 0 to 3.",
    ]


def test_pynqs_own_selftest_passes_all_eleven():
    printed = run_python("""
        with VirtualBoard(address="127.0.0.76") as board:
            from pynq.remote.selftest.runner import main
            arguments = ["--ip", board.address, "--port", str(board.port)]
            print("exit", main([*arguments, "--bitstream", board.bitstream]))
    """)
    assert "summary: 11 passed, 0 failed, 0 skipped" in printed
    assert "exit 0" in printed


def test_two_boards_at_once_do_not_hear_of_each_other():
    printed = run_python("""
        with VirtualBoard() as one, VirtualBoard() as two:
            from pynq import Overlay, allocate
            from pynq.pl_server.remote_device import RemoteDevice
            print(one.address != two.address)
            boards = (one, two)
            devices = [RemoteDevice(i, b.address, b.port) for i, b in enumerate(boards)]
            overlays = [Overlay(b.bitstream, device=d) for b, d in zip(boards, devices)]
            buffers = []
            for place, (overlay, device) in enumerate(zip(overlays, devices)):
                overlay.leds_gpio.channel1.write(place + 1, 15)
                sent = allocate(50, "u4", target=device)
                got = allocate(50, "u4", target=device)
                sent[:] = 1000 * place + np.arange(50)
                overlay.axi_dma_0.recvchannel.transfer(got)
                overlay.axi_dma_0.sendchannel.transfer(sent)
                buffers.append((sent, got))
            for overlay in overlays:
                overlay.axi_dma_0.sendchannel.wait()
                overlay.axi_dma_0.recvchannel.wait()
            print(one.leds, two.leds)
            print([bool((sent == got).all()) for sent, got in buffers])
            print(len(one.traffic), len(two.traffic))
            foreign = buffers[0][0]
            foreign.stub = devices[1]._stub["buffer"]
            print(told(foreign.flush)[:40])
            foreign.freed = True
    """)
    lines = printed.splitlines()
    assert lines[:4] == ["True", "1 2", "[True, True]", "4 4"]
    assert lines[4].startswith("There is no buffer")


def test_twenty_boards_leave_nothing():
    printed = run_python("""
        import os, socket, tempfile, threading
        from pathlib import Path

        tempfile.tempdir = tempfile.mkdtemp()
        def open_files():
            return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

        counts = []
        for _ in range(20):
            with VirtualBoard(address="127.0.0.77") as board:
                from pynq import Overlay, allocate
                overlay = Overlay(board.bitstream)
                buffer = allocate(10, "u4")
                overlay.axi_dma_0.sendchannel.transfer(buffer)
                place = (board.address, board.port)
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(place)
            names = [thread.name for thread in threading.enumerate()]
            counts.append((len(names), open_files()))
            assert not any("virtual-board" in name for name in names), names
        fewest = min(threads for threads, _ in counts[-5:])  # one may still be on its way out
        print("threads", fewest <= counts[2][0], counts)
        print("files", counts[-1][1] <= counts[2][1])
        left = [n for n in os.listdir(tempfile.tempdir) if not n.startswith("pynq-notes-")]
        print("left", left, os.environ.get("PYNQ_REMOTE_DEVICES"))
    """)
    assert "threads True" in printed, printed
    assert "files True" in printed, printed
    assert "left [] None" in printed
