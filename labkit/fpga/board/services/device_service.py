"""PYNQ.remote's service `remote_device.RemoteDevice`: files, by which a board is configured."""

from collections.abc import Iterator

import grpc
from pynq.remote import remote_device_pb2 as messages
from pynq.remote import remote_device_pb2_grpc

from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.files import MOST_BYTES
from labkit.fpga.board.pynq_package import pynq_cache
from labkit.fpga.board.services.service import CHUNK, Service, answered, bounded


class Device(Service, remote_device_pb2_grpc.RemoteDeviceServicer):
    """The calls of pynq 4.0.0; the three that it never makes are not there."""

    @answered()
    def existsfile(self, request: messages.ExistsFileRequest) -> messages.ExistsFileResponse:
        """Whether there is a file or folder."""
        return messages.ExistsFileResponse(exists=self.machine.files.exists(request.file_path))

    def readfile(
        self, request: messages.ReadFileRequest, context: grpc.ServicerContext
    ) -> Iterator[messages.ReadFileResponse]:
        """A file in parts."""
        content = self._content(request, context)
        for place in range(0, len(content), CHUNK):
            yield messages.ReadFileResponse(data=content[place : place + CHUNK])

    @answered()
    def _content(self, request: messages.ReadFileRequest) -> bytes:
        return self.machine.files.read(request.file_path)

    def writefile(
        self,
        request_iterator: Iterator[messages.WriteFileRequest],
        context: grpc.ServicerContext,
    ) -> messages.WriteFileResponse:
        """A file in parts, written when all are there."""
        paths = set()
        content = bytearray()
        for message in bounded(request_iterator, context):
            paths.add(message.file_path)
            content += message.data
            if len(paths) > 1 or len(content) > MOST_BYTES:
                sentence = f"One call writes one file, of at most {MOST_BYTES:,} bytes."
                context.abort(grpc.StatusCode.INVALID_ARGUMENT, sentence)
        return self._write(paths.pop() if paths else "", bytes(content), context)

    @answered()
    def _write(self, path: str, content: bytes) -> messages.WriteFileResponse:
        self.machine.files.write(path, content)
        return messages.WriteFileResponse()

    @answered()
    def set_bitstream_attrs(
        self, request: messages.SetBitstreamAttrsRequest
    ) -> messages.SetBitstreamAttrsResponse:
        """What is to be loaded. A client in this process has just left its notes."""
        pynq_cache.clear()
        if request.partial:
            raise BoardError("The virtual board loads whole bitstreams, and no partial ones.")
        return messages.SetBitstreamAttrsResponse(status=True)
