"""A connection's first bytes: each end proves, without telling it, that it holds the secret.

    secret = new_secret()                     # one for each cluster, which its members are given
    seals = demand(connection, secret, "server 0", seconds=10)    # who listens, before all else
    seals = prove(connection, secret, "server 0", seconds=10)     # who has called server 0

    listener    its nonce, 32 random bytes
    caller      its own nonce, and HMAC-SHA256(secret, "caller", both nonces, name)
    listener    HMAC-SHA256(secret, "listener", both nonces, name); zeros where it refuses

New nonces make a proof worthless on any other connection, and the name at any other listener. Who
stands in between can hand the proofs on; but not the key, HMAC-SHA256(secret, "key", both nonces,
name), with which both ends seal what follows (seals.py). It is not encrypted: who can read the
packets of a network reads it. Who holds the secret is trusted. Lessons parameter_servers and
a_cost_model.
"""

import hmac
import os
import secrets
import socket
import stat
import sys
import time
from pathlib import Path

from labkit.distributed.connections.reads import received
from labkit.distributed.connections.seals import Seals

NONCE = 32  # bytes
PROOF = 32  # bytes of HMAC-SHA256
REFUSED = bytes(PROOF)
LEAST_SECRET = 16  # bytes
HOW = "python -m labkit.distributed.connections.handshake {0}"


class HandshakeError(RuntimeError):
    """The other end has not proved that it holds the secret, or says that this one has not."""


def new_secret() -> bytes:
    """A secret that nobody can guess."""
    return secrets.token_hex(32).encode()


def write_secret(path: str | os.PathLike) -> None:
    """Writes a new secret into a new file, in the place of one that may be there.

    Nobody else can open it from its first moment on: who had opened it before a chmod would go on
    reading. Raises FileExistsError where somebody has put another thing there meanwhile.
    """
    Path(path).unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(new_secret() + b"\n")


def secret_in(path: str | os.PathLike) -> bytes:
    """The secret that a file holds.

    Raises ValueError, with how to make one, where there is none, or it is another user's, or others
    can read it, or it is shorter than LEAST_SECRET bytes.
    """
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb")  # waits for no FIFO
    except OSError:
        raise _no_secret(path, f"There is no file {path} with a secret.") from None
    with file:
        state = os.fstat(file.fileno())  # of what is read, whatever the name means by now
        if not stat.S_ISREG(state.st_mode):
            raise _no_secret(path, f"There is no file {path} with a secret.")
        if state.st_uid not in (0, os.geteuid()):
            raise _no_secret(path, f"The secret in {path} is another user's.")
        if stat.S_IMODE(state.st_mode) & 0o077:
            raise _no_secret(path, f"The secret in {path} can be read by others.")
        secret = file.read().strip()
    if len(secret) < LEAST_SECRET:
        raise _no_secret(path, f"The secret in {path} is shorter than {LEAST_SECRET} bytes.")
    return secret


def _no_secret(path: str | os.PathLike, wrong: str) -> ValueError:
    return ValueError(f"{wrong} This makes one: {HOW.format(path)}")


def demand(connection: socket.socket, secret: bytes, name: str, seconds: float) -> Seals:
    """The listener's part: nothing but a nonce and a proof is read from a stranger.

    name   of this listener; what callers want to reach

    Raises HandshakeError, with the stranger refused, and TimeoutError after so many seconds.
    """
    end = time.monotonic() + seconds
    own = secrets.token_bytes(NONCE)
    connection.settimeout(seconds)
    connection.sendall(own)
    said = received(connection, NONCE + PROOF, end)
    theirs, proof = said[:NONCE], said[NONCE:]
    if not hmac.compare_digest(proof, _digest(secret, "caller", own, theirs, name)):
        connection.sendall(REFUSED)
        raise HandshakeError("A caller has not proved that it holds the secret.")
    connection.sendall(_digest(secret, "listener", own, theirs, name))
    return Seals(_digest(secret, "key", own, theirs, name), calls=False)


def prove(connection: socket.socket, secret: bytes, name: str, seconds: float) -> Seals:
    """The caller's part; then the listener has proved that it holds the secret as well.

    name   of the listener that is wanted

    Raises HandshakeError where one of the two does not, or where another listener answers,
    EOFError where the connection ends, and TimeoutError after so many seconds.
    """
    end = time.monotonic() + seconds
    own = secrets.token_bytes(NONCE)
    connection.settimeout(seconds)
    theirs = _all_of(connection, NONCE, end)
    connection.sendall(own + _digest(secret, "caller", theirs, own, name))
    proof = _all_of(connection, PROOF, end)
    if not hmac.compare_digest(proof, _digest(secret, "listener", theirs, own, name)):
        raise HandshakeError(
            f"The two ends of the connection do not hold the same secret, or it is not {name}."
        )
    return Seals(_digest(secret, "key", theirs, own, name), calls=True)


def _all_of(connection: socket.socket, count: int, end: float) -> bytes:
    data = received(connection, count, end)
    if len(data) < count:
        raise EOFError("The connection was closed before the secret was proved.")
    return data


def _digest(secret: bytes, purpose: str, listeners: bytes, callers: bytes, name: str) -> bytes:
    """Of nonces with a fixed length: no two purposes, and no two names, share a message."""
    return hmac.digest(secret, purpose.encode() + listeners + callers + name.encode(), "sha256")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Name one file, into which a new secret is to be written.")
    write_secret(sys.argv[1])
