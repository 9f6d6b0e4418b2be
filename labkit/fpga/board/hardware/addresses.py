"""Where the board's programmable logic answers on the bus; Vivado's own choices for these IPs."""

LEDS = 0x4120_0000
BUTTONS = 0x4121_0000
DMA = 0x4040_0000
RTL = 0x43C0_0000  # the learner's module
SIZE = 0x1_0000  # bytes of each
