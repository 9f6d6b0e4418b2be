"""The clock registers: the rates of a Pynq board after its start, and after they are written."""

from labkit.fpga.board.hardware.slcr import Slcr


def test_rates_after_the_start():
    assert Slcr().pl_clock_mhz(0) == 100.0


def test_rates_follow_the_registers():
    slcr = Slcr()
    slcr.write(0x170, 1 << 20 | 8 << 8)
    assert slcr.pl_clock_mhz(0) == 125.0
    slcr.write(0x180, 1 << 20 | 13 << 8 | 2 << 4)  # from the ARM PLL
    assert slcr.pl_clock_mhz(1) == 100.0
    slcr.write(0x190, 0)
    assert slcr.pl_clock_mhz(2) == 0.0


def test_any_register_keeps_what_is_written():
    slcr = Slcr()
    assert slcr.read(0x900) == 0
    slcr.write(0x900, 0xF)
    assert slcr.read(0x900) == 0xF
