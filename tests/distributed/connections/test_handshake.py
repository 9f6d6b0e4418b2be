"""The handshake: who holds the secret gets in, and nobody else, whatever was overheard."""

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labkit.distributed.connections.handshake import (
    HOW,
    NONCE,
    PROOF,
    REFUSED,
    HandshakeError,
    demand,
    new_secret,
    prove,
    secret_in,
    write_secret,
)
from labkit.distributed.connections.reads import received

ENOUGH = 60.0  # seconds: only ends a hang
SECRET = new_secret()
NAME = "server 0"


class Listener:
    """One end in a thread, which demands a proof; `error` is what became of it."""

    def __init__(self, secret=SECRET, seconds=ENOUGH):
        self.caller, self.there = socket.socketpair()
        self.caller.settimeout(ENOUGH)
        self.error = None
        self.thread = threading.Thread(target=self._demand, args=(secret, seconds))
        self.thread.start()

    def _demand(self, secret, seconds):
        try:
            demand(self.there, secret, NAME, seconds)
        except (HandshakeError, OSError) as error:
            self.error = error

    def ended(self):
        """What it raised, if anything."""
        self.thread.join(ENOUGH)
        self.there.close()
        return self.error


def test_who_holds_the_secret_gets_in():
    listener = Listener()
    prove(listener.caller, SECRET, NAME, ENOUGH)
    assert listener.ended() is None


def test_a_wrong_secret_is_refused_on_both_sides():
    listener = Listener()
    with pytest.raises(HandshakeError, match="do not hold the same secret") as caught:
        prove(listener.caller, new_secret(), NAME, ENOUGH)
    assert SECRET.decode() not in f"{caught.value} {listener.ended()}"
    assert isinstance(listener.error, HandshakeError)


@pytest.mark.parametrize("sent", [b"", b"x" * NONCE, b"x" * (NONCE + PROOF - 1)])
def test_without_a_proof_nobody_gets_in(sent):
    listener = Listener()
    listener.caller.sendall(sent)
    listener.caller.shutdown(socket.SHUT_WR)
    assert isinstance(listener.ended(), HandshakeError)


def test_of_a_stranger_no_more_than_a_nonce_and_a_proof_is_read():
    listener = Listener()
    listener.caller.sendall(b"x" * (NONCE + PROOF) + b"the rest")
    listener.thread.join(ENOUGH)
    assert listener.there.recv(100) == b"the rest"
    assert isinstance(listener.ended(), HandshakeError)


def test_who_is_silent_is_left():
    assert isinstance(Listener(seconds=0.05).ended(), TimeoutError)


def overheard():
    """All that a caller with the secret has sent, and all that it was sent."""
    listener = Listener()
    caller, between = socket.socketpair()
    sent, came = b"", b""
    thread = threading.Thread(target=prove, args=(caller, SECRET, NAME, ENOUGH))
    thread.start()
    came += received(listener.caller, NONCE, None)
    between.sendall(came)
    sent = received(between, NONCE + PROOF, None)
    listener.caller.sendall(sent)
    came += received(listener.caller, PROOF, None)
    between.sendall(came[NONCE:])
    thread.join(ENOUGH)
    assert listener.ended() is None
    return sent, came


def test_what_was_overheard_opens_no_other_connection():
    sent, came = overheard()
    listener = Listener()
    assert received(listener.caller, NONCE, None) != came[:NONCE]
    listener.caller.sendall(sent)
    assert received(listener.caller, PROOF, None) == REFUSED
    assert isinstance(listener.ended(), HandshakeError)


def test_a_listener_s_own_words_are_no_proof():
    """Who sends back what it was sent, or holds a proof of the other role, has proved nothing."""
    _, came = overheard()
    for answer in (lambda nonce: nonce + came[NONCE:], lambda nonce: nonce + nonce):
        listener = Listener()
        listener.caller.sendall(answer(received(listener.caller, NONCE, None)))
        assert received(listener.caller, PROOF, None) == REFUSED
        assert isinstance(listener.ended(), HandshakeError)


def test_a_listener_without_the_secret_is_not_believed():
    caller, impostor = socket.socketpair()
    impostor.sendall(b"n" * NONCE + b"p" * PROOF)
    with pytest.raises(HandshakeError):
        prove(caller, SECRET, NAME, ENOUGH)


def test_a_connection_that_ends_is_no_refusal():
    caller, there = socket.socketpair()
    there.sendall(b"n" * NONCE)
    there.shutdown(socket.SHUT_WR)
    with pytest.raises(EOFError):
        prove(caller, SECRET, NAME, ENOUGH)


def test_secrets_differ():
    assert len({new_secret() for _ in range(10)}) == 10


def test_the_secret_in_a_file(tmp_path):
    path = tmp_path / "secret"
    with pytest.raises(ValueError, match=r"There is no file .* This makes one: python -m labkit"):
        secret_in(path)
    os.mkfifo(path)
    with pytest.raises(ValueError, match="There is no file"):
        secret_in(path)
    path.unlink()
    path.touch(0o600)
    path.write_bytes(b"short\n")
    with pytest.raises(ValueError, match="shorter than 16 bytes"):
        secret_in(path)
    path.write_bytes(SECRET + b"\n")
    assert secret_in(path) == SECRET
    os.chmod(path, 0o644)
    with pytest.raises(ValueError, match=f"can be read by others.*handshake {path}"):
        secret_in(path)


def test_another_user_s_file_is_no_secret(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    write_secret(path)
    state = os.stat(path)
    others = os.stat_result((*state[:4], state.st_uid + 4711, *state[5:]))
    monkeypatch.setattr(os, "fstat", lambda descriptor: others)
    with pytest.raises(ValueError, match="is another user's"):
        secret_in(path)


@pytest.mark.parametrize("before", [None, 0o644])
def test_the_recipe_makes_a_secret_that_nobody_else_can_read(before, tmp_path):
    path = tmp_path / "secret"
    if before is not None:
        path.touch(before)
    root = str(Path(__file__).parents[3])
    where = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    where["PYTHONPATH"] = root
    subprocess.run(HOW.format(path), shell=True, check=True, env=where, umask=0o022)
    assert len(secret_in(path)) == 64 and path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_another_puts_in_its_place_gets_no_secret(kind, tmp_path, monkeypatch):
    path, target = tmp_path / "secret", tmp_path / "target"
    target.touch(0o600)
    real = Path.unlink

    def unlink(self, missing_ok=False):
        real(self, missing_ok)
        path.symlink_to(target) if kind == "link" else path.touch()

    monkeypatch.setattr(Path, "unlink", unlink)
    with pytest.raises(FileExistsError):
        write_secret(path)
    assert path.read_bytes() == target.read_bytes() == b""


def test_the_program_tells_the_same_recipe():
    program = Path(__file__).parents[3] / "chapters" / "04_distributed" / "train_ps.py"
    assert f"\n    {HOW.format('secret')}\n" in program.read_text()
