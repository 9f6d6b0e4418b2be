"""A listener's door: callers prove the secret side by side, and idle strangers keep nobody out.

    with Door(listener, secret, "server 0", welcome):
        ...                        # welcome(connection, seals) runs in a thread of each caller

    connection, seals = knock(place, secret, "server 0", seconds=60)     # from the other side

At most MOST_STRANGERS callers have not proved it yet, each for PROOF seconds; when one more comes,
the oldest of them is left. Who holds the secret and is left in such a crowd calls again.

A place is a host and a port, or the path of a socket file. Who reaches a port can call faster than
callers are taken, and hold up or stop those with the secret for as long as he goes on: at most
QUEUE calls wait, and the system forgets what comes beyond; on one machine, the callers' ports run
out as well. He reads and changes nothing. At a socket file in a folder of one's own nobody else can
call.
"""

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from labkit.distributed.connections.handshake import HandshakeError, demand, prove
from labkit.distributed.connections.seals import Seals

MOST_STRANGERS = 16
PROOF = 10.0  # seconds for a caller's proof
PAUSE = 0.05  # seconds after a connection that could not be accepted
QUEUE = 4096  # calls that nobody has taken yet; systems have limits of their own
CALL = 2.0  # seconds of one call: the system asks again ever more seldom, a new call at once

Place = tuple[str, int] | str


class Door:
    """Takes calls until it is closed.

    name      whom the callers want to reach (handshake.py)
    welcome   called with the connection and the seals of each caller with the secret: both are
              its own from then on
    """

    def __init__(
        self,
        listener: socket.socket,
        secret: bytes,
        name: str,
        welcome: Callable[[socket.socket, Seals], None],
    ) -> None:
        self._listener, self._secret, self._name = listener, secret, name
        self._welcome = welcome
        self._strangers: list[socket.socket] = []  # the oldest first
        self._counting = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> "Door":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves all strangers; the port is free again."""
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or accept() would hold the port
        self._listener.close()
        with self._counting:
            for connection in self._strangers:
                leave(connection)

    def _accept(self) -> None:
        """Until the door is closed: a caller that has left, or too many open files, pass."""
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                self._closed.wait(PAUSE)
                continue
            with self._counting:
                self._strangers.append(connection)
                if len(self._strangers) > MOST_STRANGERS:
                    leave(self._strangers.pop(0))
            threading.Thread(target=self._meet, args=(connection,), daemon=True).start()

    def _meet(self, connection: socket.socket) -> None:
        try:
            seals = demand(connection, self._secret, self._name, PROOF)
        except (HandshakeError, OSError):
            connection.close()
            return
        finally:
            with self._counting:
                if connection in self._strangers:
                    self._strangers.remove(connection)
        with suppress(OSError):  # the caller has left, or is silent
            self._welcome(connection, seals)


def leave(connection: socket.socket) -> None:
    """Ends a connection of which another thread reads: that one closes it."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def listening(place: Place) -> socket.socket:
    """A listener there; at a path, in the place of one that has died. Raises OSError."""
    if not isinstance(place, str):
        return socket.create_server(place, backlog=QUEUE)
    listener = socket.socket(socket.AF_UNIX)
    new = f"{place}.new"
    with suppress(FileNotFoundError):
        os.unlink(new)
    listener.bind(new)
    listener.listen(QUEUE)
    os.rename(new, place)  # at no moment is there no file
    return listener


def knock(place: Place, secret: bytes, name: str, seconds: float) -> tuple[socket.socket, Seals]:
    """A connection to a listener of this name, and its seals: both ends have proved the secret.

    Calls again where nothing comes within CALL seconds. Raises what `prove` raises, OSError where
    nobody listens there, and TimeoutError after so many seconds.
    """
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        try:
            return _call(place, secret, name, max(min(left, CALL), PAUSE))  # a last one, if late
        except TimeoutError:
            if left <= CALL:
                raise


def _call(place: Place, secret: bytes, name: str, seconds: float) -> tuple[socket.socket, Seals]:
    end = time.monotonic() + seconds
    connection = _connected(place, seconds)
    try:
        return connection, prove(connection, secret, name, max(end - time.monotonic(), PAUSE))
    except BaseException:
        connection.close()  # nothing more goes to who has not proved that he holds it
        raise


def _connected(place: Place, seconds: float) -> socket.socket:
    if not isinstance(place, str):
        connection = socket.create_connection(place, seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(seconds)
        connection.connect(place)
    except BaseException:
        connection.close()
        raise
    return connection
