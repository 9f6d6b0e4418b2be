"""PYNQ.remote's service `buffer.RemoteBuffer`: buffers in the board's memory."""

from collections.abc import Iterator

import grpc
from pynq.remote import buffer_pb2, buffer_pb2_grpc

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.services import malformed
from labkit.fpga.board.services.service import CHUNK, Service, answered, bounded


class Buffers(Service, buffer_pb2_grpc.RemoteBufferServicer):
    """Allocated, written, read and freed. There is no cache, so flushing has nothing to do."""

    @answered()
    def allocate(self, request: buffer_pb2.AllocateRequest) -> buffer_pb2.AllocateResponse:
        """A buffer's id. pynq does not look at this answer's `msg`."""
        buffer = self.machine.memory.allocate(request.size)
        return buffer_pb2.AllocateResponse(buffer_id=buffer.name)

    def write(
        self,
        request_iterator: Iterator[buffer_pb2.BufferWriteRequest],
        context: grpc.ServicerContext,
    ) -> buffer_pb2.BufferWriteResponse:
        """Parts of a buffer, one behind the other, or each from its `start` on."""
        place = 0
        for message in bounded(request_iterator, context):
            place = message.start or place
            failed = self._write_part(message, place, context)
            if failed.msg:
                return failed
            place += len(message.data)
        return buffer_pb2.BufferWriteResponse()

    @answered(buffer_pb2.BufferWriteResponse)
    def _write_part(
        self, message: buffer_pb2.BufferWriteRequest, place: int
    ) -> buffer_pb2.BufferWriteResponse:
        buffer = self.machine.memory.buffer(message.buffer_id)
        end = place + len(message.data)
        if place < 0 or end > buffer.size:
            raise BoardError(
                f"Bytes {place:,} to {end:,} were to be written to the buffer {buffer}: they do "
                "not fit."
            )
        self.machine.memory.view(buffer)[place:end] = memoryview(message.data)
        return buffer_pb2.BufferWriteResponse()

    def read(
        self, request: buffer_pb2.BufferReadRequest, context: grpc.ServicerContext
    ) -> Iterator[buffer_pb2.BufferReadResponse]:
        """A buffer's bytes from `start` to `end`, in parts; 0 as the end is that of the buffer."""
        malformed.refuse(request, context)
        place = request.start
        while data := self._read_part(request, place, context):
            yield buffer_pb2.BufferReadResponse(data=data)
            place += len(data)

    @answered()
    def _read_part(self, request: buffer_pb2.BufferReadRequest, place: int) -> bytes:
        buffer = self.machine.memory.buffer(request.buffer_id)
        end = request.end or buffer.size
        if not 0 <= request.start <= end <= buffer.size:
            raise BoardError(
                f"Bytes {request.start:,} to {end:,} were to be read from the buffer {buffer}, "
                "which does not have them."
            )
        return self.machine.memory.view(buffer)[place : min(place + CHUNK, end)].tobytes()

    @answered(buffer_pb2.FreeBufferResponse)
    def freebuffer(self, request: buffer_pb2.FreeBufferRequest) -> buffer_pb2.FreeBufferResponse:
        """Frees it, whatever uses it."""
        self.machine.free(request.buffer_id)
        return buffer_pb2.FreeBufferResponse()

    @answered(buffer_pb2.FlushResponse)
    def flush(self, request: buffer_pb2.FlushRequest) -> buffer_pb2.FlushResponse:
        """Nothing, for a buffer that is there."""
        self.machine.memory.buffer(request.buffer_id)
        return buffer_pb2.FlushResponse()

    @answered(buffer_pb2.InvalidateResponse)
    def invalidate(self, request: buffer_pb2.InvalidateRequest) -> buffer_pb2.InvalidateResponse:
        """Nothing, for a buffer that is there."""
        self.machine.memory.buffer(request.buffer_id)
        return buffer_pb2.InvalidateResponse()

    @answered(buffer_pb2.AddressResponse)
    def physical_address(self, request: buffer_pb2.AddressRequest) -> buffer_pb2.AddressResponse:
        """What a DMA calls it."""
        buffer = self.machine.memory.buffer(request.buffer_id)
        return buffer_pb2.AddressResponse(address=buffer.address)

    @answered(buffer_pb2.AddressResponse)
    def virtual_address(self, request: buffer_pb2.AddressRequest) -> buffer_pb2.AddressResponse:
        """The same: no program runs on this board's processor."""
        buffer = self.machine.memory.buffer(request.buffer_id)
        return buffer_pb2.AddressResponse(address=buffer.address)

    @answered(buffer_pb2.CacheableResponse)
    def cacheable(self, request: buffer_pb2.CacheableRequest) -> buffer_pb2.CacheableResponse:
        """Always."""
        self.machine.memory.buffer(request.buffer_id)
        return buffer_pb2.CacheableResponse(cacheable=True)
