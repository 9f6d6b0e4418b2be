"""A board without a server: pynq's calls go straight to the machine, in the thread that makes them.

It takes no port, starts no thread, and ends when nobody has it any more. So an answer can be tried
on a board of its own while the learner's is running, and its clock cycles count as its own work.
pynq itself is the unmodified one: only gRPC between it and the board is left out.
"""

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from labkit.fpga.board.design import Design
from labkit.fpga.board.errors import BoardError
from labkit.fpga.board.hardware.dma_channel import Channel
from labkit.fpga.board.hardware.machine import Machine
from labkit.fpga.board.pynq_package import pynq_cache


class PrivateBoard:
    """A board with a design in it, that pynq takes for the active one within `with`.

    machine   what pynq's calls reach
    calls     how often each of them was made: "Mmio.write", "Buffers.allocate" and so on
    refusals  what the board refused, in sentences
    sent      the bytes of each transfer that was started on the send channel
    received  where the bytes come to of each that was started on the receive channel
    """

    def __init__(self, design: Design) -> None:
        self.machine = Machine()
        self.machine.load(design)
        self.calls: Counter[str] = Counter()
        self.refusals: list[str] = []
        self.sent: list[bytes] = []
        self.received: list[np.ndarray] = []
        self._design = design
        if dma := self.machine.fabric.dma:
            dma.watch = self._started

    @contextmanager
    def active(self) -> Iterator[Any]:
        """Its `Overlay`; until the block ends, `allocate` and `MMIO` of pynq mean this board."""
        load_pynq()
        from pynq import Clocks, Device, Overlay

        class_state = ((Device, "_active_device"), (Clocks, "device"))
        before = [(owner, name, vars(owner).get(name)) for owner, name in class_state]
        with TemporaryDirectory(prefix="private-board-") as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about packages of other machines
            path = self._design.write(Path(folder))
            device = _device_class()(self)
            try:
                Device._active_device = device
                yield Overlay(str(path), download=False, device=device)
            finally:
                for owner, name, value in before:
                    _put_back(owner, name, value)
                self.machine.stop()

    def called(self, name: str) -> None:
        """Notes a call."""
        self.calls[name] += 1

    def refused(self, sentence: str) -> None:
        """Notes a refusal."""
        self.refusals.append(sentence)

    def _started(self, channel: Channel, data: np.ndarray) -> None:
        if channel.sending:
            self.sent.append(data.tobytes())
        else:
            self.received.append(data)


def load_pynq() -> None:
    """Imports pynq as for a board that is reached from afar; BoardError where it is missing."""
    if not pynq_cache.files():
        raise BoardError("The package pynq is not installed: `pip install pynq==4.0.0` brings it.")
    if "pynq" not in sys.modules:
        _import_pynq()
    pynq_cache.keep_own()


def _import_pynq() -> None:
    name = "PYNQ_REMOTE_DEVICES"  # decides what pynq is, and is read when it is imported
    before = os.environ.get(name)
    os.environ[name] = before or "127.0.0.1"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pynq  # noqa: F401
    if before is None:
        del os.environ[name]


class _Context:
    """Where a service says that a call has failed, in place of gRPC's."""

    def abort(self, code: object, sentence: str) -> None:
        raise RuntimeError(sentence)


class _Stub:
    """The calls of a service, as gRPC's stubs offer them."""

    def __init__(self, service: Any, board: PrivateBoard) -> None:
        self._service = service
        self._board = board

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        method = getattr(self._service, name)
        kind = type(self._service).__name__

        def call(request: Any) -> Any:
            self._board.called(f"{kind}.{name}")
            try:
                answer = method(request, _Context())
            except RuntimeError as error:
                self._board.refused(str(error))
                raise
            if sentence := getattr(answer, "msg", ""):
                self._board.refused(sentence)
            return answer

        return call


@cache
def _device_class() -> type:
    from pynq.pl_server.device import Device
    from pynq.pl_server.remote_device import RemoteDevice

    from labkit.fpga.board.services import (
        buffer_service,
        device_service,
        gpio_service,
        mmio_service,
    )

    class DirectDevice(RemoteDevice):
        """pynq's remote device, whose services are in this process."""

        def __init__(self, board: PrivateBoard) -> None:
            Device.__init__(self, "private")
            services = {
                "device": device_service.Device,
                "mmio": mmio_service.Mmio,
                "buffer": buffer_service.Buffers,
                "gpio": gpio_service.Gpio,
            }
            self._stub = {
                name: _Stub(service(board.machine), board) for name, service in services.items()
            }
            self.arch = self.get_arch()
            self.name = self.get_board_name()
            self.capabilities = {"REMOTE": True}

        def allocate(self, *given: Any, **named: Any) -> Any:
            """A buffer whose copy on this side is 0: pynq leaves in it what was in free memory,
            such as the right result of the run before."""
            buffer = super().allocate(*given, **named)
            buffer.view(np.ndarray)[...] = 0
            return buffer

    return DirectDevice


def _put_back(owner: type, name: str, value: object) -> None:
    if value is None and name == "_active_device":  # pynq asks whether it has the attribute
        if name in vars(owner):
            delattr(owner, name)
        return
    setattr(owner, name, value)
