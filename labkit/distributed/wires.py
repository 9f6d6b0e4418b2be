"""Messages over connections of our own, one for each pair of ranks, each through a relay if asked.

    with wired(latency=0.01, address="10.0.0.2"):        # in every rank of a group
        ring_all_reduce(x)                                # each message 10 ms later

Gloo listens on ports of its own choosing, so no relay can stand in its way. Here each pair has one
TCP connection, which leads through a relay (`relay.py`); `torch.distributed` is only asked where
the others listen, and what they take as a proof (handshake.py): each rank has a secret of its own
for those that call it. Lesson a_cost_model.
"""

import socket
import threading
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.handshake import HandshakeError, demand, new_secret, prove
from labkit.distributed.network import TorchTransport, use
from labkit.distributed.relay import relayed

if TYPE_CHECKING:
    import torch

LENGTH = 8  # bytes of a number: a message's length, or a rank
PATIENCE = 600.0  # seconds: ends a hang, nothing else
PROOF = 60.0  # seconds for a caller's proof, and for its rank


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
        listener = stack.enter_context(socket.create_server((address, 0)))
        secret = new_secret()
        places = [None] * ranks
        dist.all_gather_object(places, (listener.getsockname(), secret))
        connections = {}
        for other in range(rank):
            place, theirs = places[other]
            if latency:
                place = stack.enter_context(relayed(place, latency))
            wire = stack.enter_context(socket.create_connection(place))
            prove(wire, theirs, PATIENCE)
            wire.sendall(rank.to_bytes(LENGTH, "big"))
            connections[other] = wire
        callers = set(range(rank + 1, ranks))
        for caller, wire in accepted(listener, secret, callers):
            connections[caller] = stack.enter_context(wire)
        for wire in connections.values():
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.settimeout(PATIENCE)
        with use(Wires(rank, connections)) as wires:
            yield wires
        dist.barrier()  # nobody closes while another one still reads


def accepted(
    listener: socket.socket, secret: bytes, callers: Collection[int]
) -> Iterator[tuple[int, socket.socket]]:
    """The connection of each of these ranks, in the order in which they call.

    A caller without the secret is left, and waited for no longer. Raises RuntimeError for a rank
    that is none of these, or that has called before.
    """
    missing = set(callers)
    while missing:
        wire, _ = listener.accept()
        try:
            demand(wire, secret, PROOF)
        except (HandshakeError, OSError):
            wire.close()
            continue
        wire.settimeout(PROOF)
        rank = int.from_bytes(_read(wire, bytearray(LENGTH)), "big")
        if rank not in missing:
            wire.close()
            why = "has called already" if rank in callers else "does not exist or does not call"
            raise RuntimeError(
                f"A caller says that it is rank {rank}, which {why}: {_named(missing)} may call."
            )
        missing.remove(rank)
        yield rank, wire


def _named(ranks: Collection[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, sorted(ranks)))}"


def _bytes_of(tensor: "torch.Tensor") -> memoryview:
    """The memory of a contiguous tensor."""
    import torch

    return memoryview(tensor.detach().reshape(-1).view(torch.uint8).numpy())


def _read(wire: socket.socket, into: bytearray | memoryview) -> bytearray | memoryview:
    """Fills `into`; RuntimeError where the other rank has gone before."""
    rest = memoryview(into)
    while len(rest):
        count = wire.recv_into(rest)
        if not count:
            raise RuntimeError("The other rank has closed the connection in the middle of a run.")
        rest = rest[count:]
    return into
