"""A parameter server: a shard that workers reach over TCP, a thread for each connection.

    server = Server()                        # 127.0.0.1, on a port that the system gives
    server.serve(shard, fingerprint)         # from now on; a new shard replaces the old one
    server.address                           # "127.0.0.1:40123"
    server.close()

A connection begins with `hello`, which says whose it is and which model it trains: a worker of
another version of the model is refused. A stranger's bytes end the stranger's connection alone.
Lesson parameter_servers.
"""

from __future__ import annotations

import errno
import socket
import sys
import threading
import traceback
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.distributed.parameter_server.errors import ServerError, WireError
from labkit.distributed.parameter_server.notes import Push
from labkit.distributed.parameter_server.replication import Deposed, Standing, Unanswered
from labkit.distributed.parameter_server.wire import receive_frame, send_frame

if TYPE_CHECKING:
    import torch

    from labkit.distributed.parameter_server.shard import Shard

Frame = "tuple[dict[str, Any], dict[str, torch.Tensor]]"
REFUSED = (ServerError, WireError, ValueError)  # what a sentence explains, without a traceback


class Server:
    """Listens from the beginning, and answers once it serves a shard.

    checkpoint   the file that the request `save` writes, if any
    is_copy      whether it waits for another server, and follows that one (replication.py)
    greeted      numbers of the workers that have come since it was made
    stopped      set when a client has sent `stop`

    Raises ServerError for a port that is in use, and for an address that is not this machine's.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        checkpoint: str | Path | None = None,
        is_copy: bool = False,
    ) -> None:
        self._listener = _listening(host, port)
        self.address = f"{host}:{self._listener.getsockname()[1]}"
        self.checkpoint = checkpoint
        self.is_copy = is_copy
        self.standing = Standing(is_copy)
        self.stopped = threading.Event()
        self.greeted: set[int] = set()
        self._serving = threading.Condition()
        self._shard: Shard | None = None
        self._fingerprint = ""
        self._connections: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def serve(self, shard: Shard, fingerprint: str) -> None:
        """Answers for this shard from now on; fingerprint says of which model it is a part."""
        with self._serving:
            self._shard, self._fingerprint = shard, fingerprint
            self.standing = Standing(self.is_copy)
            self._serving.notify_all()

    @property
    def idle(self) -> bool:
        """Whether nobody is connected."""
        return not self._connections

    def close(self) -> None:
        """Ends all connections; the port is free again."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # or accept() would hold the port
        self._listener.close()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connections.add(connection)
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        """Answers one client, until it leaves or sends what is no frame."""
        with suppress(OSError, EOFError), connection:
            talk = Talk(self)
            while True:
                try:
                    answer = talk.answer(*receive_frame(connection))
                except WireError as error:
                    send_frame(connection, {"error": str(error)})
                    break
                send_frame(connection, *answer)
        self._connections.discard(connection)

    def shard_of(self, fingerprint: str) -> Shard:
        """What it serves, once it does; raises ServerError for another model's fingerprint."""
        with self._serving:
            self._serving.wait_for(lambda: self._shard is not None)
            if fingerprint != self._fingerprint:
                raise ServerError(
                    f"This is another version of the model. The worker brings {fingerprint}; the "
                    f"server holds {self._fingerprint}. Start both from the same labkit."
                )
            return self._shard


class Talk:
    """The requests of one connection; each method answers one kind, with fields and tensors."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.shard: Shard | None = None
        self.worker: int | None = None

    def answer(self, fields: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Frame:
        """What is said to a request; {"error": sentence} where it is refused."""
        try:
            kind = fields.get("kind")
            if kind not in KINDS:
                raise ServerError(f"A server answers {', '.join(KINDS)}, not {kind!r}.")
            if self.shard is None and kind != "hello":
                raise ServerError(f"A connection begins with hello, not with {kind}.")
            return getattr(self, kind)(fields, tensors)
        except Unanswered as ending:
            if isinstance(ending, Deposed):
                self.server.standing.depose()
            raise
        except REFUSED as error:
            return {"error": str(error)}, {}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)  # of the server's process: this is its own fault
            return {"error": f"The server failed: {type(error).__name__}: {error}"}, {}

    def hello(self, fields: dict, tensors: dict) -> Frame:
        """Whose connection this is: a worker's number, or None for somebody who only looks."""
        shard = self.server.shard_of(fields["fingerprint"])
        self.worker = fields["worker"]
        self.server.standing.greet(self.worker, fields.get("leads", False))
        finished = 0 if self.worker is None else shard.finished_by(self.worker)
        if self.worker is not None:
            self.server.greeted.add(self.worker)
        self.shard = shard
        return {"finished": finished}, {}

    def pull(self, fields: dict, tensors: dict) -> Frame:
        """The values for the worker's next step, or {"over": true}."""
        pulled = self.shard.pull(self.worker, fields["patience"], fields["step"])
        if pulled is None:
            return {"over": True}, {}
        said = {name: getattr(pulled, name) for name in ("version", "step", "held")}
        return {"over": False, **said}, {"values": pulled.values}

    def push(self, fields: dict, tensors: dict) -> Frame:
        """Takes a gradient; says how many steps the worker has finished."""
        finished = self.shard.push(
            self.worker,
            fields["step"],
            fields["version"],
            tensors["gradient"],
            fields["loss"],
            fields["samples"],
            fields["patience"],
        )
        return {"finished": finished}, {}

    def follow(self, fields: dict, tensors: dict) -> Frame:
        """Takes what another server has accepted: this one is its copy."""
        if not self.server.standing.hears():
            return {"taken over": True}, {}
        self.shard.follow(Push(**fields["push"], gradient=tensors["gradient"]))
        return {}, {}

    def begin(self, fields: dict, tensors: dict) -> Frame:
        """Notes a step that another server grants: this one is its copy."""
        if not self.server.standing.hears():
            return {"taken over": True}, {}
        self.shard.follow_begin(fields["of"])
        return {}, {}

    def log(self, fields: dict, tensors: dict) -> Frame:
        """All notes of the shard, how many pushes were repeated, and its values."""
        notes, repeated, values = self.shard.log()
        return {"notes": [astuple(note) for note in notes], "repeated": repeated}, {
            "values": values
        }

    def count(self, fields: dict, tensors: dict) -> Frame:
        """How many gradients are applied."""
        return {"applied": len(self.shard.notes)}, {}

    def save(self, fields: dict, tensors: dict) -> Frame:
        """Writes the checkpoint; its place was told to the server when it was made."""
        from labkit.distributed.parameter_server.checkpoint import save_checkpoint

        if self.server.checkpoint is None:
            raise ServerError("This server was started without a file for its checkpoint.")
        state, values = self.shard.state()
        save_checkpoint(self.server.checkpoint, state, values)
        return {"applied": len(state["notes"])}, {}

    def load(self, fields: dict, tensors: dict) -> Frame:
        """Goes back to the newest checkpoint that is whole."""
        from labkit.distributed.parameter_server.checkpoint import last_good_checkpoint

        if self.server.checkpoint is None:
            raise ServerError("This server was started without a file for its checkpoint.")
        found = last_good_checkpoint(self.server.checkpoint)
        self.shard.load_state(found.fields, found.tensors)
        return {"applied": len(found.fields["notes"])}, {}

    def stop(self, fields: dict, tensors: dict) -> Frame:
        """Tells whoever runs the server that it is not needed any more."""
        self.server.stopped.set()
        return {}, {}


KINDS = ("hello", "pull", "push", "follow", "begin", "log", "count", "save", "load", "stop")


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ServerError(
                f"The port {port} of {host} is in use by another program: end that one, or choose "
                "another port (0: a free one)."
            ) from None
        raise ServerError(f"A server cannot listen at {host}:{port}: {error.strerror}.") from None
