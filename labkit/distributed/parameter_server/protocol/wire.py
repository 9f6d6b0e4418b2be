"""One frame over a socket: what servers and workers say to each other.

    8 bytes     how many follow before the seal, big-endian
    the rest    safetensors: tensors by name, and the fields as JSON in its metadata
    32 bytes    the seal: nobody in between has changed it (seals.py)

    wire = Wire(connection, prove(connection, secret, "server 0", seconds=10))
    wire.send({"kind": "push", "step": 3}, {"gradient": gradient})
    fields, tensors = wire.receive()

A time limit is of a whole frame: a limit of each read would let a peer trickle on for ever. Before
the first frame, both ends prove who they are (handshake.py). Frames are not encrypted.

There is no pickle in it: loading a pickle runs whatever code its sender has put there. JSON and
safetensors are data only. Lesson parameter_servers.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.distributed.connections.reads import received
from labkit.distributed.connections.seals import SEAL, ForgedError, Seals
from labkit.distributed.parameter_server.errors import WireError

if TYPE_CHECKING:
    import torch

LENGTH = 8  # bytes
MOST_BYTES = 256 << 20  # of a frame


class Wire:
    """One end of a connection after its handshake, which gave the seals."""

    def __init__(self, connection: socket.socket, seals: Seals) -> None:
        self.connection, self.seals = connection, seals

    def send(
        self,
        fields: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor] | None = None,
        seconds: float | None = None,
    ) -> None:
        """Sends one frame, within so many seconds; None: the connection's own time-out.

        Raises WireError, with nothing sent, where it would be longer than MOST_BYTES, and
        TimeoutError.
        """
        data = packed(fields, tensors)
        if len(data) > MOST_BYTES:
            raise WireError(
                f"A frame of {len(data)} bytes is to be sent; {MOST_BYTES} are allowed."
            )
        if seconds is not None:
            self.connection.settimeout(seconds)  # of all that sendall sends
        length = len(data).to_bytes(LENGTH, "big")
        self.connection.sendall(length + data + self.seals.seal(data))

    def receive(
        self, seconds: float | None = None
    ) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """The fields and tensors of the next frame; nothing is unpacked before its seal is checked.

        seconds   until all of it is there; None: the connection's own time-out, for each read

        Raises EOFError where the connection was closed between two frames, WireError where it ended
        within one, or where what came is none, ForgedError where the other end has not sent this
        frame, and TimeoutError.
        """
        end = None if seconds is None else time.monotonic() + seconds
        first = received(self.connection, LENGTH, end)
        if not first:
            raise EOFError("The connection was closed.")
        if len(first) < LENGTH:
            raise WireError(
                f"The connection ended after {len(first)} of the length's {LENGTH} bytes."
            )
        length = int.from_bytes(first, "big")
        if length > MOST_BYTES:
            raise ForgedError(f"A frame of {length} bytes is announced, which nobody of us sends.")
        data = received(self.connection, length, end)
        seal = received(self.connection, SEAL, end)
        if len(seal) < SEAL:
            raise WireError(
                f"The connection ended after {len(data) + len(seal)} of a frame's "
                f"{length + SEAL} bytes."
            )
        self.seals.check(data, seal)
        return unpacked(data)

    def wait(self) -> None:
        """Waits, however long, until a frame begins or the connection ends."""
        self.connection.settimeout(None)
        self.connection.recv(1, socket.MSG_PEEK)


def packed(fields: Mapping[str, Any], tensors: Mapping[str, torch.Tensor] | None = None) -> bytes:
    """Fields and tensors as the bytes of a safetensors file."""
    from safetensors.torch import save

    return save(dict(tensors or {}), metadata={"fields": json.dumps(dict(fields))})


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """The fields and tensors in the bytes of a safetensors file; raises WireError for others."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors = load(data)
        head = json.loads(data[LENGTH : LENGTH + int.from_bytes(data[:LENGTH], "little")])
        fields = json.loads(head["__metadata__"]["fields"])
    except (SafetensorError, KeyError, ValueError, TypeError, RecursionError) as error:
        raise WireError(
            f"{len(data)} bytes are no safetensors file with fields: {type(error).__name__}, "
            f"{error}. They come from another version of labkit."
        ) from None
    if not isinstance(fields, dict):
        raise WireError(f"A frame's fields are a JSON object, not {type(fields).__name__}.")
    return fields, tensors
