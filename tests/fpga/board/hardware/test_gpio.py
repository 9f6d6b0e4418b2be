"""LEDs, buttons and the processor's pins."""

import pytest

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.gpio import AxiGpio, ProcessorPins


def test_outputs_show_what_is_written():
    leds = AxiGpio("leds", 0, 4, inputs=False)
    leds.write(0, 0xFFFF_FFF5)
    assert leds.pins == leds.read(0) == 5
    leds.write(4, 3)
    assert (leds.read(4), leds.read(8), leds.pins) == (3, 0, 5)


def test_inputs_do_not():
    buttons = AxiGpio("buttons", 0, 4, inputs=True)
    buttons.pins = 2
    buttons.write(0, 1)
    assert buttons.read(0) == 2


@pytest.mark.parametrize("offset", [0x10, 0x20, 0xFFFC])
def test_there_are_no_other_registers(offset):
    with pytest.raises(BoardError, match="has no register at offset"):
        AxiGpio("leds", 0, 4, inputs=False).read(offset)


def test_pins_of_the_processor():
    pins = ProcessorPins()
    pin = pins.export(906, "out")
    assert pins.is_exported(pin) and pins.read(pin) == 0
    pins.write(pin, 1)
    assert pins.read(pin) == 1
    pins.unexport(pin)
    assert not pins.is_exported(pin)


def test_pins_that_are_not_there():
    pins = ProcessorPins()
    for call in (
        lambda: pins.export(905, "in"),
        lambda: pins.export(1024, "in"),
        lambda: pins.export(906, "up"),
        lambda: pins.read("pin-905"),
        lambda: pins.write("pin-906", 2),
        lambda: pins.unexport("906"),
    ):
        with pytest.raises(BoardError):
            call()
