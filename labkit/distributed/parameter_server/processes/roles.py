"""What runs in each process of a cluster: one server or one worker, from its start to its end.

A role takes orders, one after the other, over a pipe from the process that has started it: a
server serves a shard, and a worker works. Its answers come back over the same pipe. Lesson
parameter_servers.
"""

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import torch

from labkit.distributed.launching.rank import Failure, end_with, failure_of, speak_through
from labkit.distributed.parameter_server.checkpoint import (
    last_good_checkpoint,
    save_checkpoint,
)
from labkit.distributed.parameter_server.client import Client
from labkit.distributed.parameter_server.faults import Fault, Saving, after_push, with_faults
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.protocol.turns import Event
from labkit.distributed.parameter_server.replication import Copy
from labkit.distributed.parameter_server.rules import Rule
from labkit.distributed.parameter_server.server import Server
from labkit.distributed.parameter_server.shard import Shard
from labkit.distributed.parameter_server.worker import work


@dataclass(frozen=True)
class Begin:
    """A training, as every role gets it.

    job       pickled by cloudpickle
    seconds   that each worker's step takes at least
    order     of pulls and pushes, where they are replayed
    timeout      seconds for each answer of a server
    addresses    of all servers
    copies       for each server the address of its copy, or None
    checkpoint   from which a server goes on
    saving       when servers write checkpoints, if they do
    faults       what is to befall the roles
    """

    job: bytes
    rule: Rule
    limit: Limit
    rate: float
    seconds: tuple[float, ...]
    order: tuple[Event, ...] | None
    once: bool
    timeout: float
    addresses: tuple[str, ...]
    copies: tuple[str | None, ...]
    checkpoint: str | None = None
    saving: Saving | None = None
    faults: tuple[Fault, ...] = ()

    @property
    def workers(self) -> int:
        """How many workers take part."""
        return len(self.seconds)


@dataclass(frozen=True)
class Save:
    """A server writes a checkpoint."""

    path: str


@dataclass(frozen=True)
class Go:
    """A worker that is ready begins."""


@dataclass(frozen=True)
class Reply:
    """A role's answer to an order: a value, or how it failed."""

    value: Any = None
    failure: Failure | None = None


@dataclass(frozen=True)
class RoleSpec:
    """Which role a process has: its kind and number, its cluster's secret, where servers listen."""

    kind: str
    number: int
    secret: bytes = field(repr=False)
    path: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """ "worker 1"."""
        return f"{self.kind} {self.number}"


def run_role(spec: RoleSpec, talk: Connection, output: Connection, lifeline: Connection) -> None:
    """The life of a role: it answers each order that comes over `talk`.

    output     takes all that is printed
    lifeline   the process ends when the other end is closed: by the cluster, or since it is gone
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted training ends its roles itself
    os.environ.update(spec.environment)
    speak_through(output)
    threading.Thread(target=_end_with, args=(lifeline, spec), daemon=True).start()
    torch.set_num_threads(1)  # all roles share the machine's cores
    try:
        role = WorkerRole(spec) if spec.kind == "worker" else ServerRole(spec)
        talk.send(Reply(role.greeting))
        while True:
            talk.send(Reply(role.obey(talk.recv())))
    except EOFError:
        pass  # nobody gives orders any more
    except BaseException as error:
        talk.send(Reply(failure=failure_of(error)))
    threading.Event().wait()  # until the lifeline ends


def _end_with(lifeline: Connection, spec: RoleSpec) -> None:
    """As `end_with`; the last role takes the folder with it, where the cluster is gone."""
    lifeline.poll(None)
    with suppress(OSError):
        os.unlink(spec.path)
    with suppress(OSError):
        os.rmdir(os.path.dirname(spec.path))
    end_with(lifeline)


class ServerRole:
    """A server, or the copy of one, that gets a new shard for each training."""

    def __init__(self, spec: RoleSpec) -> None:
        self.name, self.number, self.secret = spec.name, spec.number, spec.secret
        kind = {"is_copy": spec.kind == "copy", "number": spec.number}
        self.server = Server(spec.secret, path=spec.path, **kind)
        self.greeting = self.server.address
        self.shard: Shard | None = None

    def obey(self, order: Begin | Save) -> int:
        """Serves or saves; returns how many gradients its weights have seen."""
        if isinstance(order, Begin):
            self._begin(order)
        else:
            save_checkpoint(order.path, *self.shard.state())
        return len(self.shard.notes)

    def _begin(self, order: Begin) -> None:
        job, parts = cloudpickle.loads(order.job), len(order.addresses)
        copy = None
        if order.copies[self.number] and not self.server.is_copy:
            address = order.copies[self.number]
            copy = Copy(address, job.fingerprint(), self.secret, order.timeout, self.number)
        # The first server says when it is over: two that count for themselves might disagree.
        self.shard = Shard(
            job.start().tensor_split(parts)[self.number],
            order.rule,
            order.workers,
            order.rate,
            limit=order.limit if self.number == 0 else None,
            order=order.order,
            once=order.once,
            forward=copy and copy.push,
            announce=copy and copy.begin,
            after=after_push(self.name, order.saving, order.faults),
        )
        if order.checkpoint is not None:
            found = last_good_checkpoint(order.checkpoint)
            self.shard.load_state(found.fields, found.tensors)
        self.server.serve(self.shard, job.fingerprint())


class WorkerRole:
    """A worker, which prepares when a training begins, and works when it is told to go."""

    greeting = None

    def __init__(self, spec: RoleSpec) -> None:
        self.name, self.number, self.secret = spec.name, spec.number, spec.secret
        self.order: Begin | None = None
        self.job: Any = None

    def obey(self, order: Begin | Go) -> Any:
        """Prepares; or works, and returns how many steps it made."""
        if isinstance(order, Begin):
            self.order, self.job = order, cloudpickle.loads(order.job)
            # The first step of a process takes longer than all others: it is not counted.
            self.job.gradient(self.job.start(), self.number, 0, order.workers)
            return None
        given = self.order
        fingerprint = self.job.fingerprint()
        known = (self.number, fingerprint, self.secret)
        client = Client(given.addresses, *known, given.timeout, given.copies)
        job = with_faults(self.job, self.name, given.faults)
        try:
            return work(client, job, given.workers, given.seconds[self.number])
        finally:
            client.close()
