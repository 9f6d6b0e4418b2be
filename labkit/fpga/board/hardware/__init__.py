"""The board behind its services: bus, memory, DMA, pins and programmable logic.

board.py and private.py, above, put a machine into use.

Modules (written by tools/modules.py):

addresses    Where the board's programmable logic answers on the bus; Vivado's own choices for these
             IPs.
dma          The registers of an AXI DMA in direct register mode (AMD's PG021), before its data
             movers.
dma_channel  One channel of an AXI DMA: its control and status registers, bit by bit (PG021).
dma_driver   A compiled design between two data movers, as Python sees it: driver/dma.h.
fabric       The programmable logic with a design in it: its registers, its DMA, and the board's
             pins.
gpio         The board's LEDs and buttons behind two AXI GPIO blocks (PG144), and the processor's
             own pins.
machine      The whole board behind its services: memory, bus, pins, files and programmable logic.
memory       The board's DDR: buffers with physical addresses, in a pool that is bounded.
registers    What a processor sees at an address: peripherals, each with 32-bit registers at
             offsets.
silence      Why a transfer does not end: what a real board would keep to itself, in sentences.
slcr         The SLCR of a Zynq-7000: the registers of its clocks, as U-Boot leaves them on a Pynq
             board.
wires        Which ports of a module are wired to a board's bus and DMA.
"""
