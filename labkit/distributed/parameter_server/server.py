"""A parameter server: a shard that workers reach by a socket, a thread for each connection.

    server = Server(secret)                  # 127.0.0.1, on a port that the system gives; or
    server = Server(secret, path=file)       # at a socket file, for this user's programs alone
    server.serve(shard, fingerprint)         # from now on; a new shard replaces the old one
    server.address                           # "127.0.0.1:40123"
    server.close()

A caller first proves that it holds the cluster's secret, and wants this server (handshake.py); a
stranger is left, and nothing else of what it sends is read. From then on each frame has a seal
(seals.py), and with a wrong one the connection ends without a word: whoever relays it can read what
is said, keep it back, and no more. Then `hello` says whose the connection is and which model it
trains: a worker of another version of the model is refused, and not told which one is right.

A worker may compute for as long as it likes between two requests. But a request that has begun, an
answer and a greeting have SECONDS, and a host that is gone without a word is noticed by TCP itself,
which asks an idle connection's other end whether it is there. Lesson parameter_servers.
"""

from __future__ import annotations

import errno
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from labkit.distributed.connections.door import Door, leave, listening
from labkit.distributed.connections.seals import ForgedError, Seals
from labkit.distributed.parameter_server.errors import ServerError, WireError
from labkit.distributed.parameter_server.protocol.talk import Talk
from labkit.distributed.parameter_server.protocol.wire import Wire
from labkit.distributed.parameter_server.replication import ReplicaState, Unanswered

if TYPE_CHECKING:
    from labkit.distributed.parameter_server.shard import Shard

SECONDS = 60.0  # for a greeting, the rest of a frame that has begun, and an answer
MOST_CALLERS = 64  # with a proof; a worker that died leaves a connection behind for a while
ALIVE = {  # where the system has these
    "TCP_KEEPIDLE": 30,  # seconds of silence, after which TCP asks whether the other end is there
    "TCP_KEEPINTVL": 10,  # seconds until it asks again
    "TCP_KEEPCNT": 3,  # questions without an answer, after which the connection ends
    "TCP_USER_TIMEOUT": 60_000,  # milliseconds without a receipt of what was sent, likewise
}


class Server:
    """Listens from the beginning, and answers once it serves a shard.

    secret       of the cluster; every caller proves that it holds it
    checkpoint   the file that the request `save` writes, if any
    is_copy      whether it waits for another server, and follows that one (replication.py)
    number       of the cluster's servers, or of the one that this is the copy of
    path         of a socket file, at which it listens in the place of host and port
    greeted      numbers of the workers that have come since it was made
    stopped      set when a client has sent `stop`

    Raises ServerError for a port that is in use, and for an address that is not this machine's.
    """

    def __init__(
        self,
        secret: bytes,
        host: str = "127.0.0.1",
        port: int = 0,
        checkpoint: str | Path | None = None,
        is_copy: bool = False,
        number: int = 0,
        path: str | None = None,
    ) -> None:
        listener = listening(path) if path else _at_port(host, port)
        self.address = path or f"{host}:{listener.getsockname()[1]}"
        self.checkpoint = checkpoint
        self.is_copy = is_copy
        self.replica_state = ReplicaState(is_copy)
        self.stopped = threading.Event()
        self.greeted: set[int] = set()
        self._serving = threading.Condition()
        self._shard: Shard | None = None
        self._fingerprint = ""
        self._connections: set[socket.socket] = set()  # of those who hold the secret
        self._counting = threading.Lock()
        self._closed = threading.Event()
        name = f"{'copy' if is_copy else 'server'} {number}"
        self._door = Door(listener, secret, name, self._talk)

    def serve(self, shard: Shard, fingerprint: str) -> None:
        """Answers for this shard from now on; fingerprint says of which model it is a part."""
        with self._serving:
            self._shard, self._fingerprint = shard, fingerprint
            self.replica_state = ReplicaState(self.is_copy)
            self._serving.notify_all()

    @property
    def idle(self) -> bool:
        """Whether nobody who holds the secret is connected."""
        return not self._connections

    def close(self) -> None:
        """Ends all connections; the port is free again."""
        self._closed.set()
        self._door.close()
        with self._counting:
            for connection in self._connections:
                leave(connection)

    def _talk(self, connection: socket.socket, seals: Seals) -> None:
        """Answers one client, until it leaves or sends what is no frame."""
        with suppress(OSError, EOFError), connection:
            _set_up(connection)
            wire = Wire(connection, seals)
            try:
                if not self._admit(connection):
                    _refuse(wire)
                elif not self._closed.is_set():  # else nobody may be left to end it
                    self._answer(wire)
            finally:
                with self._counting:
                    self._connections.discard(connection)

    def _admit(self, connection: socket.socket) -> bool:
        """Counts a caller who holds the secret; False where there are enough of them."""
        with self._counting:
            if len(self._connections) >= MOST_CALLERS:
                return False
            self._connections.add(connection)
            return True

    def _answer(self, wire: Wire) -> None:
        talk = Talk(self)
        try:
            while True:
                answer = talk.answer(*wire.receive(SECONDS))
                wire.send(*answer, SECONDS)
                wire.wait()
        except ForgedError:  # who changes frames on their way hears nothing
            return
        except WireError as error:
            wire.send({"error": str(error)}, seconds=SECONDS)

    def shard_of(self, fingerprint: str) -> Shard:
        """What it serves, once it does; raises ServerError for another model's fingerprint.

        Raises Unanswered where it does not within SECONDS: who still waits asks once more.
        """
        with self._serving:
            if not self._serving.wait_for(lambda: self._shard is not None, SECONDS):
                raise Unanswered
            if fingerprint != self._fingerprint:  # which is not told
                raise ServerError(
                    f"The worker brings another version of the model, {fingerprint}, than this "
                    "server holds: start both from the same labkit."
                )
            return self._shard


def _refuse(wire: Wire) -> None:
    """One request too many."""
    wire.receive(SECONDS)
    sentence = f"{MOST_CALLERS} connections are open, and no more are taken: end some."
    wire.send({"error": sentence}, seconds=SECONDS)


def _set_up(connection: socket.socket) -> None:
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def _at_port(host: str, port: int) -> socket.socket:
    try:
        return listening((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServerError(
                f"The port {port} of {host} is in use by another program: end that one, or choose "
                "another port (0: a free one)."
            ) from None
        raise ServerError(f"A server cannot listen at {host}:{port}: {error.strerror}.") from None
