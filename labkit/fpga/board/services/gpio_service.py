"""PYNQ.remote's service `gpio.Gpio`: the processor's own pins."""

from pynq.remote import gpio_pb2, gpio_pb2_grpc

from labkit.fpga.board.hardware.gpio import PINS, ProcessorPins
from labkit.fpga.board.services.service import Service, answered


class Gpio(Service, gpio_pb2_grpc.GpioServicer):
    """Pins by their ids. pynq looks at none of these answers' messages, so errors end the call."""

    @answered()
    def get_gpio(self, request: gpio_pb2.GetGpioRequest) -> gpio_pb2.GetGpioResponse:
        """A pin's id."""
        pin = self.machine.pins.export(request.index, request.direction)
        return gpio_pb2.GetGpioResponse(gpio_id=pin)

    @answered()
    def read(self, request: gpio_pb2.GpioReadRequest) -> gpio_pb2.GpioReadResponse:
        """0 or 1."""
        return gpio_pb2.GpioReadResponse(value=self.machine.pins.read(request.gpio_id))

    @answered()
    def write(self, request: gpio_pb2.GpioWriteRequest) -> gpio_pb2.GpioWriteResponse:
        """Sets 0 or 1."""
        self.machine.pins.write(request.gpio_id, request.value)
        return gpio_pb2.GpioWriteResponse()

    @answered()
    def unexport(self, request: gpio_pb2.GpioUnexportRequest) -> gpio_pb2.GpioUnexportResponse:
        """Gives the pin back."""
        self.machine.pins.unexport(request.gpio_id)
        return gpio_pb2.GpioUnexportResponse()

    @answered()
    def is_exported(
        self, request: gpio_pb2.GpioIsExportedRequest
    ) -> gpio_pb2.GpioIsExportedResponse:
        """Whether somebody has the pin."""
        exported = self.machine.pins.is_exported(request.gpio_id)
        return gpio_pb2.GpioIsExportedResponse(is_exported=exported)

    @answered()
    def get_gpio_base_path(
        self, request: gpio_pb2.GetGpioBasePathRequest
    ) -> gpio_pb2.GetGpioBasePathResponse:
        """Linux's name of the block of pins."""
        return gpio_pb2.GetGpioBasePathResponse(base_path=ProcessorPins.base_path)

    @answered()
    def get_gpio_npins(
        self, request: gpio_pb2.GetGpioNPinsRequest
    ) -> gpio_pb2.GetGpioNPinsResponse:
        """How many pins the block has."""
        return gpio_pb2.GetGpioNPinsResponse(npins=len(PINS))
