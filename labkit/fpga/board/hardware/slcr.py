"""The SLCR of a Zynq-7000: the registers of its clocks, as U-Boot leaves them on a Pynq board.

From a crystal of 50 MHz (the Pynq boards) the ARM, DDR and IO PLLs make 1300, 1050 and 1000 MHz.
The CPU runs at 650 MHz, and the programmable logic at FCLK0 = 1000 / 5 / 2 = 100 MHz.
"""

from labkit.fpga.board.pynq_package.foreign_hwh import refuse_clock_without_rate

CRYSTAL_MHZ = 50
PLLS = {0x100: 26, 0x104: 21, 0x108: 20}  # ARM, DDR, IO: times the crystal
PL_CLOCKS = (0x170, 0x180, 0x190, 0x1A0)
# Of the PL's clocks, the PLL by its bits 5 and 4.
SOURCES = (0x108, 0x108, 0x100, 0x104)


class Slcr:
    """A page of registers; those of clocks have their values after the start of Linux."""

    name = "slcr"
    base = 0xF800_0000
    size = 0x1000

    def __init__(self) -> None:
        self._words = {offset: times << 12 for offset, times in PLLS.items()}
        self._words[0x120] = 2 << 8  # the CPU: ARM PLL / 2
        for offset in PL_CLOCKS:
            self._words[offset] = 2 << 20 | 5 << 8

    def read(self, offset: int) -> int:
        """The register at an offset; one that was never written is 0.

        Raises BoardError for a client in this process that is about to fail over an .hwh.
        """
        if offset in PL_CLOCKS:
            refuse_clock_without_rate()
        return self._words.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Every register keeps what is written."""
        self._words[offset] = value

    def pl_clock_mhz(self, clock: int) -> float:
        """The rate of FCLK0 to FCLK3 that the registers ask for; 0 where they divide by 0."""
        control = self.read(PL_CLOCKS[clock])
        pll = self.read(SOURCES[control >> 4 & 3])
        divisors = (control >> 8 & 63) * (control >> 20 & 63)
        return CRYSTAL_MHZ * (pll >> 12 & 127) / divisors if divisors else 0.0
