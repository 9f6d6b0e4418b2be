"""`VirtualBoard`: a Pynq board that runs in this process, for the unmodified `pynq` package.

    with VirtualBoard() as board:
        from pynq import Overlay, allocate
        overlay = Overlay(str(board.bitstream))

Its programmable logic is the learner's module, compiled and clocked; its DMA, memory and registers
are models. pynq reaches it by gRPC, as it reaches a real board, but at a socket file that is this
user's alone: whoever reaches a port can read and change the board.
"""

import os
import sys
import weakref
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.machine import Machine
from labkit.fpga.board.pynq_package import compatibility, pynq_cache
from labkit.fpga.board.services.server import PORT, Server, own_addresses
from labkit.fpga.board.traffic import Event

# pynq keeps its connection to a board for the life of a process: a new board there is found
# again.
#
# After a failed call gRPC waits a second or more before it tries anew, and calls fail meanwhile.
# So a board's start waits for those connections of this process that lead to it.

PATIENCE = 60  # seconds; only ends a hang


def wait_for_clients(address: str, port: int) -> None:
    """Waits until pynq's devices at an address, if there are any, are connected."""
    if "pynq" not in sys.modules:
        return
    import grpc
    from pynq.pl_server import Device

    for device in getattr(Device, "_devices", []):
        here = (getattr(device, "ip_addr", ""), getattr(device, "port", 0))
        if here == (address, port):
            with suppress(grpc.FutureTimeoutError, ValueError):  # ValueError: it was closed
                grpc.channel_ready_future(device.client.channel).result(timeout=PATIENCE)


DEVICES = "PYNQ_REMOTE_DEVICES"  # the addresses of pynq's boards
# Addresses of this process's boards. pynq remembers where its board was: the next one has to be
# there again, and not a board of somebody else.
_running: list[str] = []
_left: list[str] = []
_users = os.environ.get(DEVICES)  # a real board's, perhaps


class VirtualBoard:
    """A board with some designs to load; within `with`, at an address that pynq can reach.

    designs   those whose bitstreams it can be configured with; a loopback if there is none
    address   by default a socket file; one of 127.0.0.1, 127.0.0.2 ... is open to every user here
    port      7967 is what pynq takes; 0 is any, for `RemoteDevice(0, board.address, board.port)`

    Raises BoardError when the port is in use or pynq is missing, and RTLError for a design that
    does not compile.
    """

    def __init__(self, *designs: Design, address: str | None = None, port: int = PORT) -> None:
        self._designs = designs
        self._address = address
        self._asked_port = port
        self._server: Server | None = None

    def __enter__(self) -> "VirtualBoard":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> "VirtualBoard":
        """Starts its server, as `with` does.

        It ends with the notebook, or when nothing holds the board any more.
        """
        if self._server:
            raise BoardError("This board is running already: make another VirtualBoard.")
        _refuse_without_pynq()
        self._folder = TemporaryDirectory(prefix="virtual-board-")
        try:
            self.machine = Machine()
            self.bitstreams = [str(self._add(design)) for design in self._designs or [_loopback()]]
            os.environ[DEVICES] = self._addresses()[0]  # before pynq is imported
            self._server = Server(self.machine, self._addresses(), self._asked_port)
            pynq_cache.keep_own()
        except BaseException:
            _clean_up(self._folder)
            raise
        if self.port == PORT:
            _running.append(self.address)
            os.environ[DEVICES] = ",".join(_running)
        self._end = weakref.finalize(self, _stop, self._server, self._folder)
        wait_for_clients(self.address, self.port)
        compatibility.mend()
        return self

    def stop(self) -> None:
        """Ends the server and removes all files; the second time it does nothing."""
        if self._server:
            self._server = None
            self._end()

    def add(self, design: Design) -> Path:
        """Writes a design's .bit and .hwh, and lets the board load them; the path of the .bit."""
        self._here()
        return self._add(design)

    def _add(self, design: Design) -> Path:
        path = design.write(Path(self._folder.name))
        self.machine.add(design)
        return path

    @property
    def address(self) -> str:
        """Where it can be reached: unix:FILE, or 127.0.0.1 or so."""
        return self._here().address

    @property
    def port(self) -> int:
        """The port of its server."""
        return self._here().port

    @property
    def bitstream(self) -> str:
        """The .bit of its first design, for `Overlay`."""
        return self.bitstreams[0]

    @property
    def leds(self) -> int:
        """The LEDs that are on, a bit for each; 0 before a bitstream is loaded."""
        with self.machine.lock:
            return self.machine.fabric.leds.pins if self.machine.fabric else 0

    def press(self, *buttons: int) -> None:
        """Holds these buttons, counted from 0, and lets go of all others."""
        with self.machine.lock:
            fabric = self.machine.fabric
            if fabric is None:
                raise BoardError("No bitstream is loaded, so no button is connected to anything.")
            wrong = [one for one in buttons if not 0 <= one < fabric.buttons.width]
            if wrong:
                raise BoardError(
                    f"There is no button {wrong[0]}; there are 0 to {fabric.buttons.width - 1}."
                )
            fabric.buttons.pins = sum(1 << one for one in set(buttons))

    @property
    def cycle(self) -> int:
        """Clock cycles since the bitstream was loaded."""
        with self.machine.lock:
            return self.machine.fabric.cycle if self.machine.fabric else 0

    @property
    def accesses(self) -> int:
        """Reads and writes of registers in the programmable logic since the board was started."""
        return self.machine.accesses

    @property
    def traffic(self) -> list[Event]:
        """What went over its bus and streams since the bitstream was loaded."""
        with self.machine.lock:
            return self.machine.traffic.events()

    def _addresses(self) -> tuple[str, ...]:
        """Where it may be: where it has to, where an earlier board was, or anywhere."""
        if self._address:
            return (self._address,)
        again = tuple(address for address in dict.fromkeys(_left) if address not in _running)
        return again or own_addresses()

    def _here(self) -> Server:
        if self._server is None:
            raise BoardError("The board is not running: use it within `with VirtualBoard(...)`.")
        return self._server


def _stop(server: Server, folder: TemporaryDirectory) -> None:
    """Ends a board, also one that nobody has any more: a cell that makes it runs twice."""
    server.stop()
    if server.address in _running:
        _running.remove(server.address)
        _left.append(server.address)
    _clean_up(folder)


def _clean_up(folder: TemporaryDirectory) -> None:
    devices = ",".join(_running) or _users
    os.environ.pop(DEVICES, None)
    if devices:
        os.environ[DEVICES] = devices
    folder.cleanup()


def _loopback() -> Design:
    from labkit.fpga.board.designs import loopback

    return loopback()


def _refuse_without_pynq() -> None:
    if not pynq_cache.files():
        raise BoardError(f"The package pynq is not installed. {compatibility.how_to_install()}")
    loaded = sys.modules.get("pynq")
    if loaded and "Remote" not in loaded.GPIO.__name__:
        raise BoardError(
            "pynq was imported before the board was started, and looks for a board of its own: "
            "restart the kernel, and start the board first."
        )
