"""Messages over connections of our own, one for each pair of ranks, each through a relay if asked.

    with wired(latency=0.01, address="10.0.0.2"):        # in every rank of a group
        ring_all_reduce(x)                                # each message 10 ms later

Gloo listens on ports of its own choosing, so no relay can stand in its way. Here each pair has one
TCP connection, which leads through a relay (`relay.py`); `torch.distributed` is only asked where
the others listen, and what they take as a proof (handshake.py): each rank has a secret of its own
for those that call it. Messages themselves have no seals, which would take longer than the loopback
does: who can change the packets of a network can change them. Lesson a_cost_model.
"""

import queue
import socket
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.connections.door import Door, knock, listening
from labkit.distributed.connections.handshake import new_secret
from labkit.distributed.connections.reads import filled
from labkit.distributed.connections.relay import relayed
from labkit.distributed.connections.seals import Seals
from labkit.distributed.network import TorchTransport, use

if TYPE_CHECKING:
    import torch

LENGTH = 8  # bytes of a number: a message's length, or a rank
PATIENCE = 600.0  # seconds: ends a hang, nothing else
PAUSE = 0.05  # seconds until a rank that was not heard calls again


class Wires:
    """A `Transport` over one connection to each other rank."""

    def __init__(self, rank: int, connections: dict[int, socket.socket]) -> None:
        self.rank = rank
        self.connections = connections

    def place(self) -> tuple[int, int]:
        """This rank, and how many there are."""
        return self.rank, len(self.connections) + 1

    def send(self, tensor: "torch.Tensor", to: int) -> None:
        """The length, then the bytes; returns when the system has taken them."""
        data = _bytes_of(tensor)
        wire = self.connections[to]
        wire.sendall(len(data).to_bytes(LENGTH, "big"))
        wire.sendall(data)

    def receive(self, tensor: "torch.Tensor", source: int) -> None:
        """Waits for the next message; RuntimeError where it has another length than the tensor."""
        data = _bytes_of(tensor)
        wire = self.connections[source]
        length = int.from_bytes(_read(wire, bytearray(LENGTH)), "big")
        if length != len(data):
            raise RuntimeError(
                f"Rank {self.rank} waits for {len(data)} bytes of rank {source}, which sends "
                f"{length}."
            )
        _read(wire, data)

    def exchange(
        self, outgoing: "torch.Tensor", to: int, incoming: "torch.Tensor", source: int
    ) -> None:
        """Sends in a thread of its own, and receives."""
        sender = threading.Thread(target=self.send, args=(outgoing, to), daemon=True)
        sender.start()
        self.receive(incoming, source)
        sender.join()


@contextmanager
def wired(latency: float = 0.0, address: str = "127.0.0.1") -> Iterator[Wires]:
    """Lets such connections carry the messages of this rank, in the `with` block.

    latency   seconds that a relay holds each segment; 0: there is no relay
    address   of this rank's host

    All ranks of the group of `torch.distributed` enter it together, with the same latency.
    """
    import torch.distributed as dist

    rank, ranks = TorchTransport().place()
    with ExitStack() as stack:
        listener = stack.enter_context(listening((address, 0)))
        secret = new_secret()
        places = [None] * ranks
        dist.all_gather_object(places, (listener.getsockname(), secret))
        connections = {}
        for other in range(rank):
            place, theirs = places[other]
            if latency:
                place = stack.enter_context(relayed(place, latency))
            connections[other] = stack.enter_context(called(place, theirs, other))
            connections[other].sendall(rank.to_bytes(LENGTH, "big"))
        callers = set(range(rank + 1, ranks))
        for caller, wire in accepted(listener, secret, rank, callers):
            connections[caller] = stack.enter_context(wire)
        for wire in connections.values():
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.settimeout(PATIENCE)
        with use(Wires(rank, connections)) as wires:
            yield wires
        dist.barrier()  # nobody closes while another one still reads


def called(place: tuple[str, int], secret: bytes, rank: int) -> socket.socket:
    """A connection to this rank; called again where a crowd of strangers has pushed it out."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return knock(place, secret, _name(rank), PATIENCE)[0]
        except (EOFError, ConnectionError):
            if time.monotonic() > end:
                raise
        time.sleep(PAUSE)


def accepted(
    listener: socket.socket, secret: bytes, rank: int, callers: Collection[int]
) -> Iterator[tuple[int, socket.socket]]:
    """The connection of each of these ranks to this one, as they come.

    Closes the listener at last. A caller without the secret is left, and nobody waits for it.
    Raises RuntimeError for a rank that is none of these, or that has called before, and where one
    has not called after PATIENCE seconds.
    """
    found: queue.SimpleQueue[tuple[int, socket.socket]] = queue.SimpleQueue()

    def welcome(wire: socket.socket, seals: Seals) -> None:
        number = bytearray(LENGTH)
        if filled(wire, number) == LENGTH:
            found.put((int.from_bytes(number, "big"), wire))
        else:
            wire.close()

    missing = set(callers)
    with Door(listener, secret, _name(rank), welcome):
        while missing:
            try:
                caller, wire = found.get(timeout=PATIENCE)
            except queue.Empty:
                raise RuntimeError(
                    f"{_named(missing)} did not call rank {rank} within {PATIENCE:g} s."
                ) from None
            if caller not in missing:
                wire.close()
                why = (
                    "has called already" if caller in callers else "does not exist or does not call"
                )
                raise RuntimeError(
                    f"A caller says that it is rank {caller}, which {why}: {_named(missing)} may "
                    "call."
                )
            missing.remove(caller)
            yield caller, wire


def _name(rank: int) -> str:
    return f"rank {rank}"


def _named(ranks: Collection[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, sorted(ranks)))}"


def _bytes_of(tensor: "torch.Tensor") -> memoryview:
    """The memory of a contiguous tensor; a single number may still have any stride."""
    import torch

    flat = tensor.detach().as_strided((tensor.numel(),), (1,))
    return memoryview(flat.view(torch.uint8).numpy())


def _read(wire: socket.socket, into: bytearray | memoryview) -> bytearray | memoryview:
    """Fills `into`; RuntimeError where the other rank has gone before."""
    if filled(wire, into) < len(into):
        raise RuntimeError("The other rank has closed the connection in the middle of a run.")
    return into
