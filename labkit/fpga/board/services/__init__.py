"""PYNQ.remote's four services, and the gRPC server that offers them.

What they reach is machine.py of labkit.fpga.board.hardware.

Modules (written by tools/modules.py):

buffer_service  PYNQ.remote's service `buffer.RemoteBuffer`: buffers in the board's memory.
device_service  PYNQ.remote's service `remote_device.RemoteDevice`: files, by which a board is
                configured.
gpio_service    PYNQ.remote's service `gpio.Gpio`: the processor's own pins.
malformed       Bytes that are no message: refused by the board itself, with a sentence.
mmio_service    PYNQ.remote's service `mmio.Mmio`: reads and writes of the bus.
server          A gRPC server for a machine, in this process and for this computer only.
service         What PYNQ.remote's four services have in common: a machine, its lock, and how errors
                are told.
slow_calls      Calls that wait for their client: a few of them may, so that threads are left for
                the others.
windows         Windows onto the bus: what a client gets from `get_mmio`, and reads and writes
                through.
"""
