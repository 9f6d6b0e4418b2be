"""A gRPC server for a machine, in this process and for this computer only.

Other users reach every port of the computer, and pynq sends no secret that could be asked for. So
a server listens at a socket file in a folder of this user alone, unless a port is asked for.
"""

import atexit
import ipaddress
import os
import shutil
import socket
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache

from labkit.files import socket_folder
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.machine import Machine

PORT = 7967  # which pynq takes for all boards of PYNQ_REMOTE_DEVICES
MOST_BOARDS = 16  # of a process
FILE = "unix:"  # a socket file to gRPC is unix:FOLDER/1:7967, with the port as part of its name
THREADS = 16  # twice as many as may wait for their clients (slow_calls.py)
MOST_CALLS = 64  # at a time
PATIENCE = 30  # seconds for the server to stop; only ends a hang
LARGEST_MESSAGE = 4 * 2**20  # bytes; pynq sends 2 MiB


@cache
def own_addresses() -> tuple[str, ...]:
    """Where this process's boards are by default: the same, as long as it runs.

    They are ports of the computer on Windows, and where no folder has a path that is short enough.
    """
    with suppress(OSError):
        if sys.platform != "win32":
            folder = socket_folder("labkit-board-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            return tuple(f"{FILE}{folder / str(n)}" for n in range(1, MOST_BOARDS + 1))
    return tuple(f"127.0.0.{last}" for last in range(1, MOST_BOARDS + 1))


class Server:
    """Started by its constructor, at the first free one of `addresses`.

    Raises BoardError for an address that is not this computer's own, and where none is free.
    """

    def __init__(self, machine: Machine, addresses: tuple[str, ...], port: int = PORT) -> None:
        for address in addresses:
            _refuse_foreign(address)
        self._machine = machine
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="virtual-board")
        for address in addresses:
            self._server = self._with_services()
            bound = _bind(self._server, address, port)
            if bound:
                self.address = address
                self.port = bound
                self._server.start()
                return
        self._threads.shutdown()
        raise BoardError(
            f"Port {port} of {' and '.join(addresses[:2])} is in use: by a board of another "
            "notebook, perhaps, or by another program or user. Stop it, or choose "
            "VirtualBoard(..., port=0), and connect with "
            "RemoteDevice(0, board.address, board.port)."
        )

    def stop(self) -> None:
        """Ends all calls, closes the port, and ends the threads."""
        self._machine.stop()
        self._server.stop(grace=1).wait(timeout=PATIENCE)
        self._threads.shutdown()

    def _with_services(self):
        """A new server with the four services. pynq is loaded here, and not before."""
        import grpc

        with warnings.catch_warnings():  # about packages of other machines
            warnings.simplefilter("ignore")
            from pynq.remote import (
                buffer_pb2_grpc,
                gpio_pb2_grpc,
                mmio_pb2_grpc,
                remote_device_pb2_grpc,
            )

        from labkit.fpga.board.services.buffer_service import Buffers
        from labkit.fpga.board.services.device_service import Device
        from labkit.fpga.board.services.gpio_service import Gpio
        from labkit.fpga.board.services.malformed import ReadLeniently
        from labkit.fpga.board.services.mmio_service import Mmio
        from labkit.fpga.board.services.slow_calls import EndSlow

        options = [
            ("grpc.so_reuseport", 0),  # a second server of the same port has to fail
            ("grpc.max_receive_message_length", LARGEST_MESSAGE),
            ("grpc.max_send_message_length", LARGEST_MESSAGE),
        ]
        server = grpc.server(
            self._threads,
            interceptors=[EndSlow(), ReadLeniently()],
            options=options,
            maximum_concurrent_rpcs=MOST_CALLS,
        )
        machine = self._machine
        buffer_pb2_grpc.add_RemoteBufferServicer_to_server(Buffers(machine), server)
        gpio_pb2_grpc.add_GpioServicer_to_server(Gpio(machine), server)
        mmio_pb2_grpc.add_MmioServicer_to_server(Mmio(machine), server)
        remote_device_pb2_grpc.add_RemoteDeviceServicer_to_server(Device(machine), server)
        return server


def is_open(address: str) -> bool:
    """Whether every user of this computer can call there."""
    return not address.startswith(FILE)


def _refuse_foreign(address: str) -> None:
    if not is_open(address):
        return
    try:
        own = ipaddress.ip_address(address).is_loopback
    except ValueError:
        own = False
    if not own:
        raise BoardError(
            f"The address {address!r} is not this computer's own: a virtual board can be reached "
            "from nowhere else, so take one of 127.0.0.1, 127.0.0.2 and so on."
        )


def _bind(server, address: str, port: int) -> int:
    """The port that was bound, or 0. That of a file is a part of its name: any is 1."""
    port = port if is_open(address) else port or 1
    if not _is_free(address, port):
        return 0
    try:
        bound = server.add_insecure_port(f"{address}:{port}")
        return bound if is_open(address) else port
    except RuntimeError:  # somebody was faster
        return 0


def _is_free(address: str, port: int) -> bool:
    """Asked first, because gRPC writes a line to stderr for a port that is in use."""
    if not is_open(address):
        return not os.path.lexists(f"{address.removeprefix(FILE)}:{port}")
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC does
        try:
            probe.bind((address, port))
        except OSError:  # in use, or an address that this system does not have
            return False
    return True
