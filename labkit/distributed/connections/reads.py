"""Reads of a socket that come to an end: so many bytes, or fewer where it is closed, in time.

end   the moment of `time.monotonic()` after which TimeoutError is raised; None: the connection's
      own time-out, for each read
"""

import socket
import time

PART = 1 << 20  # bytes


def received(connection: socket.socket, count: int, end: float | None = None) -> bytes:
    """So many bytes; fewer where the connection is closed before."""
    data = bytearray()
    came = whole = 1
    while len(data) < count and came == whole:  # memory is taken for what comes, not for a promise
        whole = min(count - len(data), PART)
        part = bytearray(whole)
        came = filled(connection, part, end)
        data += part[:came]
    return bytes(data)


def filled(
    connection: socket.socket, into: bytearray | memoryview, end: float | None = None
) -> int:
    """Puts what comes there until it is full; how many bytes came before the connection's end."""
    rest = memoryview(into)
    while len(rest):
        if end is not None:
            connection.settimeout(_left(end))
        count = connection.recv_into(rest)
        if not count:
            break
        rest = rest[count:]
    return len(into) - len(rest)


def _left(end: float) -> float:
    """Seconds until this moment; raises TimeoutError where it is over."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("The other end has taken too long.")
    return left
