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
import time
from pathlib import Path

from labkit.distributed.reads import received
from labkit.distributed.seals import Seals

NONCE = 32  # bytes
PROOF = 32  # bytes of HMAC-SHA256
REFUSED = bytes(PROOF)
LEAST_SECRET = 16  # bytes
# The umask comes first: a file that others may read when it is made is read before any chmod.
HOW = 'rm -f {0}; (umask 077; python -c "import secrets; print(secrets.token_hex(32))" > {0})'


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
