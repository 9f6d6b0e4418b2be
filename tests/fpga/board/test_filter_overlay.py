"""The filter for video as an overlay: frames by plain pynq calls, its registers, its cycles."""

import pytest

from labkit.fpga.board.pynq_package import pynq_cache
from tests.fpga.board.pynq_process import run_python

pytestmark = pytest.mark.skipif(not pynq_cache.files(), reason="pynq is not installed")


def test_frames_through_the_filter_and_what_it_refuses():
    printed = run_python("""
        from tests.fpga.circuits.cycles import filter_cycles
        from tests.fpga.circuits.test_rtl_filter import filtered

        H, W = 11, 13
        rng = np.random.default_rng(0)
        with VirtualBoard(designs.filter_3x3(H, W)) as board:
            from pynq import Overlay, allocate
            overlay = Overlay(board.bitstream)
            ip, dma = overlay.filter_3x3_0, overlay.axi_dma_0
            there, back = (allocate((H, W), "u1") for _ in range(2))
            for number in range(3):
                frame = rng.integers(0, 256, (H, W))
                taps = rng.integers(-128, 128, (3, 3))
                ip.write(0, np.array([*taps.ravel(), 8 + number], "i4").tobytes())
                there[:] = frame
                dma.recvchannel.transfer(back)
                dma.sendchannel.transfer(there)
                dma.sendchannel.wait()
                dma.recvchannel.wait()
                print(np.array_equal(back, filtered(frame, taps, 8 + number)))
            starts, ends = board.traffic[-3], board.traffic[-1]
            print(starts.where, starts.kind, ends.where, ends.kind)
            print(ends.cycle - starts.cycle == filter_cycles(H, W))
            ip.write(ip.register_map.TAP8.address, -5)
            print(ip.read(0x20) - 2**32, int(ip.register_map.SHIFT))
            print(told(lambda: ip.write(0x20, 200)))
            print(told(lambda: ip.read(0x28)))
    """)
    lines = printed.splitlines()
    assert lines[:3] == ["True"] * 3
    assert lines[3:6] == ["send channel starts receive channel ends", "True", "-5 10"]
    assert "offset 0x20 answers SLVERR (write)" in lines[6]
    assert "offset 0x28 answers SLVERR (read)" in lines[7]


def test_after_a_short_frame_the_next_one_is_right():
    printed = run_python("""
        from tests.fpga.circuits.test_rtl_filter import filtered, of_a_packet

        H, W = 11, 13
        rng = np.random.default_rng(1)
        with VirtualBoard(designs.filter_3x3(H, W)) as board:
            from pynq import Overlay, allocate
            overlay = Overlay(board.bitstream)
            ip, dma = overlay.filter_3x3_0, overlay.axi_dma_0
            taps = rng.integers(-128, 128, (3, 3))
            ip.write(0, np.array([*taps.ravel(), 9], "i4").tobytes())
            for length in (40, H * W, 1, H * W, H * W + 50, H * W):
                there, back = allocate(length, "u1"), allocate(length, "u1")
                there[:] = rng.integers(0, 256, length)
                dma.recvchannel.transfer(back)
                dma.sendchannel.transfer(there)
                dma.sendchannel.wait()
                dma.recvchannel.wait()
                print(np.array_equal(back, of_a_packet(there, H, W, taps, 9)))
    """)
    assert printed.splitlines() == ["True"] * 6
