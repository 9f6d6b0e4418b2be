"""What a server answers: the requests of one connection, each kind a method.

    talk = Talk(server)
    fields, tensors = talk.answer({"kind": "hello", "worker": 0, "fingerprint": fingerprint}, {})
    fields, tensors = talk.answer({"kind": "pull", "step": 0, "patience": 48}, {})

A refusal is an answer, too: {"error": sentence}. Lesson parameter_servers.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import astuple
from reprlib import repr as short
from typing import TYPE_CHECKING, Any

from labkit.distributed.parameter_server.checkpoint import (
    CheckpointError,
    last_good_checkpoint,
    save_checkpoint,
)
from labkit.distributed.parameter_server.errors import ServerError, WireError
from labkit.distributed.parameter_server.notes import Push
from labkit.distributed.parameter_server.protocol.requests import PUSH, refuse_wrong
from labkit.distributed.parameter_server.replication import Deposed, Unanswered

if TYPE_CHECKING:
    import torch

    from labkit.distributed.parameter_server.shard import Shard

Frame = "tuple[dict[str, Any], dict[str, torch.Tensor]]"
REFUSED = (
    ServerError,
    WireError,
    CheckpointError,
    ValueError,
)  # what a sentence explains, without a traceback


class Talk:
    """The requests of one connection; each method answers one kind, with fields and tensors."""

    def __init__(self, server: Any) -> None:  # a Server; its module imports this one
        self.server = server
        self.shard: Shard | None = None
        self.worker: int | None = None

    def answer(self, fields: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Frame:
        """What is said to a request; {"error": sentence} where it is refused."""
        try:
            kind = fields.get("kind")
            if kind not in KINDS:
                raise ServerError(f"A server answers {', '.join(KINDS)}, not {short(kind)}.")
            if self.shard is None and kind != "hello":
                raise ServerError(f"A connection begins with hello, not with {kind}.")
            refuse_wrong(kind, fields, tensors)
            return getattr(self, kind)(fields, tensors)
        except Unanswered as ending:
            if isinstance(ending, Deposed):
                self.server.replica_state.depose()
            raise
        except REFUSED as error:
            return {"error": str(error)}, {}
        except Exception as error:
            traceback.print_exc(file=sys.stderr)  # of the server's process: this is its own fault
            return {"error": f"The server failed: {type(error).__name__}: {error}"}, {}

    def hello(self, fields: dict, tensors: dict) -> Frame:
        """Whose connection this is: a worker's number, or None for somebody who only looks."""
        shard, worker = self.server.shard_of(fields["fingerprint"]), fields["worker"]
        finished = 0 if worker is None else shard.finished_by(worker)
        self.server.replica_state.greet(worker, fields.get("leads") is True)
        if worker is not None:
            self.server.greeted.add(worker)
        self.shard, self.worker = shard, worker
        return {"finished": finished, "taken over": self.server.replica_state.has_taken_over}, {}

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
        if not self.server.replica_state.hears():
            return {"taken over": True}, {}
        told = {name: fields["push"][name] for name in PUSH}
        self.shard.follow(Push(**told, gradient=tensors["gradient"]))
        return {}, {}

    def begin(self, fields: dict, tensors: dict) -> Frame:
        """Notes a step that another server grants: this one is its copy."""
        if not self.server.replica_state.hears():
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
        if self.server.checkpoint is None:
            raise ServerError("This server was started without a file for its checkpoint.")
        state, values = self.shard.state()
        save_checkpoint(self.server.checkpoint, state, values)
        return {"applied": len(state["notes"])}, {}

    def load(self, fields: dict, tensors: dict) -> Frame:
        """Goes back to the newest checkpoint that is whole."""
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
