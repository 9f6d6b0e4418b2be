"""PYNQ.remote's service `mmio.Mmio`: reads and writes of the bus."""

from pynq.remote import mmio_pb2, mmio_pb2_grpc

from labkit.fpga.board.services import windows
from labkit.fpga.board.services.service import Service, answered


class Mmio(Service, mmio_pb2_grpc.MmioServicer):
    """Windows onto the bus."""

    @answered(mmio_pb2.GetMmioResponse)
    def get_mmio(self, request: mmio_pb2.GetMmioRequest) -> mmio_pb2.GetMmioResponse:
        """A window's id."""
        window = windows.opened(self.machine, request.base_addr, request.length)
        return mmio_pb2.GetMmioResponse(status=True, mmio_id=window.name)

    @answered(mmio_pb2.ReadResponse)
    def read(self, request: mmio_pb2.ReadRequest) -> mmio_pb2.ReadResponse:
        """1, 2, 4 or 8 bytes as a number."""
        window = windows.known(request.mmio_id)
        data = window.read(
            self.machine,
            request.offset,
            request.length,
            request.word_order,
        )
        return mmio_pb2.ReadResponse(status=True, data=data)

    @answered(mmio_pb2.WriteResponse)
    def write(self, request: mmio_pb2.WriteRequest) -> mmio_pb2.WriteResponse:
        """One word or several."""
        windows.known(request.mmio_id).write(self.machine, request.offset, request.data)
        return mmio_pb2.WriteResponse(status=True)
