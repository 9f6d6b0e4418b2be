"""Messages over connections of our own, one for each pair of ranks, each through a relay if asked.

    with wired(latency=0.01, address="10.0.0.2"):        # in every rank of a group
        ring_all_reduce(x)                                # each message 10 ms later

Gloo listens on ports of its own choosing, so no relay can stand in its way. Here each pair has one
TCP connection, which leads through a relay (`relay.py`); `torch.distributed` is only asked where
the others listen. Lesson a_cost_model.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from labkit.distributed.network import TorchTransport, use
from labkit.distributed.relay import relayed

if TYPE_CHECKING:
    import torch

LENGTH = 8  # bytes of a number: a message's length, or a rank
PATIENCE = 600.0  # seconds: ends a hang, nothing else


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
        places = [None] * ranks
        dist.all_gather_object(places, listener.getsockname())
        connections = {}
        for other in range(rank):
            place = tuple(places[other])
            if latency:
                place = stack.enter_context(relayed(place, latency))
            wire = stack.enter_context(socket.create_connection(place))
            wire.sendall(rank.to_bytes(LENGTH, "big"))
            connections[other] = wire
        for _ in range(rank + 1, ranks):
            wire, _ = listener.accept()
            stack.enter_context(wire)
            connections[int.from_bytes(_read(wire, bytearray(LENGTH)), "big")] = wire
        for wire in connections.values():
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire.settimeout(PATIENCE)
        with use(Wires(rank, connections)) as wires:
            yield wires
        dist.barrier()  # nobody closes while another one still reads


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
