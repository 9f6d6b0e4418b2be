"""A connection's first bytes: each end proves, without telling it, that it holds the secret.

    secret = new_secret()                     # one for each cluster, which its members are given
    demand(connection, secret, seconds=10)    # who listens, before it reads anything else
    prove(connection, secret, seconds=10)     # who has called

    listener    its nonce, 32 random bytes
    caller      its own nonce, and HMAC-SHA256(secret, "caller", both nonces)
    listener    HMAC-SHA256(secret, "listener", both nonces); zeros where it refuses

New nonces make a proof worthless on any other connection. What follows is neither encrypted nor
signed: who can read or change the packets of a network needs no secret. Lessons parameter_servers
and a_cost_model.
"""

import hmac
import os
import secrets
import socket
import stat
import time
from pathlib import Path

NONCE = 32  # bytes
PROOF = 32  # bytes of HMAC-SHA256
REFUSED = bytes(PROOF)
LEAST_SECRET = 16  # bytes
HOW = 'python -c "import secrets; print(secrets.token_hex(32))" > {0}; chmod 600 {0}'


class HandshakeError(RuntimeError):
    """The other end has not proved that it holds the secret, or says that this one has not."""


def new_secret() -> bytes:
    """A secret that nobody can guess."""
    return secrets.token_hex(32).encode()


def secret_in(path: str | os.PathLike) -> bytes:
    """The secret that a file holds.

    Raises ValueError, with how to make one, where there is none, or others can read it, or it is
    shorter than LEAST_SECRET bytes.
    """
    path = Path(path)
    wrong = None
    if not path.is_file():
        wrong = f"There is no file {path} with a secret."
    elif stat.S_IMODE(path.stat().st_mode) & 0o077:
        wrong = f"The secret in {path} can be read by others."
    elif len(path.read_bytes().strip()) < LEAST_SECRET:
        wrong = f"The secret in {path} is shorter than {LEAST_SECRET} bytes."
    if wrong:
        raise ValueError(f"{wrong} This makes one: {HOW.format(path)}")
    return path.read_bytes().strip()


def demand(connection: socket.socket, secret: bytes, seconds: float) -> None:
    """The listener's part: nothing but a nonce and a proof is read from a stranger.

    Raises HandshakeError, with the stranger refused, and TimeoutError after so many seconds.
    """
    end = time.monotonic() + seconds
    own = secrets.token_bytes(NONCE)
    connection.settimeout(seconds)
    connection.sendall(own)
    said = received(connection, NONCE + PROOF, end)
    theirs, proof = said[:NONCE], said[NONCE:]
    if not hmac.compare_digest(proof, _proof(secret, b"caller", own, theirs)):
        connection.sendall(REFUSED)
        raise HandshakeError("A caller has not proved that it holds the secret.")
    connection.sendall(_proof(secret, b"listener", own, theirs))


def prove(connection: socket.socket, secret: bytes, seconds: float) -> None:
    """The caller's part; then the listener has proved that it holds the secret as well.

    Raises HandshakeError where one of the two does not, EOFError where the connection ends, and
    TimeoutError after so many seconds.
    """
    end = time.monotonic() + seconds
    own = secrets.token_bytes(NONCE)
    connection.settimeout(seconds)
    theirs = _all_of(connection, NONCE, end)
    connection.sendall(own + _proof(secret, b"caller", theirs, own))
    proof = _all_of(connection, PROOF, end)
    if not hmac.compare_digest(proof, _proof(secret, b"listener", theirs, own)):
        raise HandshakeError("The two ends of the connection do not hold the same secret.")


def received(connection: socket.socket, count: int, end: float | None) -> bytes:
    """So many bytes; fewer where the connection is closed before.

    end   the moment of `time.monotonic()` after which TimeoutError is raised; None: the
          connection's own time-out, for each read
    """
    data = bytearray()
    while len(data) < count:
        if end is not None:
            connection.settimeout(_left(end))
        chunk = connection.recv(min(count - len(data), 1 << 20))
        if not chunk:
            break
        data += chunk
    return bytes(data)


def _all_of(connection: socket.socket, count: int, end: float) -> bytes:
    data = received(connection, count, end)
    if len(data) < count:
        raise EOFError("The connection was closed before the secret was proved.")
    return data


def _proof(secret: bytes, role: bytes, listeners: bytes, callers: bytes) -> bytes:
    return hmac.digest(secret, role + listeners + callers, "sha256")


def _left(end: float) -> float:
    """Seconds until this moment; raises TimeoutError where it is over."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError("The other end has taken too long.")
    return left
