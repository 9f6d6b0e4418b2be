"""A listener's door: callers prove the secret side by side, and strangers keep nobody out.

    with Door(listener, secret, "server 0", welcome):
        ...                        # welcome(connection, seals) runs in a thread of each caller

At most MOST_STRANGERS callers have not proved it yet, each for PROOF seconds; when one more comes,
the oldest of them is left. Who holds the secret and is left in such a crowd calls again. A closed
door's port is free to every user of the computer, unless it is held (crew.py).
"""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

from labkit.distributed.handshake import HandshakeError, demand
from labkit.distributed.seals import Seals

MOST_STRANGERS = 16
PROOF = 10.0  # seconds for a caller's proof
PAUSE = 0.05  # seconds after a connection that could not be accepted


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
