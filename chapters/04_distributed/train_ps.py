"""Training by parameter servers: the same program on one machine or on many.

    python train_ps.py                                       two servers and three workers, here

    python -m labkit.distributed.connections.handshake secret
    python train_ps.py --role server --index 0 --servers A:4700,A:4701 --workers 2 --secret secret
    python train_ps.py --role server --index 1 --servers A:4700,A:4701 --workers 2 --secret secret
    python train_ps.py --role worker --index 0 --servers A:4700,A:4701 --workers 2 --secret secret
    python train_ps.py --role worker --index 1 --servers A:4700,A:4701 --workers 2 --secret secret

The roles may start in any order; A is the address of a host that all of them reach. The file
`secret` has to be the same on all hosts (copy it by scp): a server answers nobody who does not
prove that he holds it. What then travels can be read on its way, but not changed. Who reaches a
server's port can hold it up by calls without end: it is for internal networks. With `--copy
B:4700`, told to all, and `--role copy` on host B, the first server has a copy. A worker that was
killed is started again with its number. A server with `--checkpoint FILE` writes that file, and
begins with it where it exists. Lessons parameter_servers and faults.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from labkit.distributed import LaunchError
from labkit.distributed.connections.handshake import secret_in
from labkit.distributed.parameter_server.checkpoint import (
    CheckpointError,
    last_good_checkpoint,
    save_checkpoint,
)
from labkit.distributed.parameter_server.client import Client
from labkit.distributed.parameter_server.errors import ServerError, WireError
from labkit.distributed.parameter_server.notes import Note
from labkit.distributed.parameter_server.problem import Photographs
from labkit.distributed.parameter_server.processes.cluster import Cluster
from labkit.distributed.parameter_server.protocol.limits import Limit
from labkit.distributed.parameter_server.replication import Copy
from labkit.distributed.parameter_server.rules import rule_of
from labkit.distributed.parameter_server.server import Server
from labkit.distributed.parameter_server.shard import Shard
from labkit.distributed.parameter_server.worker import work

GLANCE = 0.05  # seconds between two looks at what a server has done
SENTENCES = (LaunchError, ServerError, WireError, CheckpointError, ValueError)


class Telling:
    """A job that tells how far its worker is.

    longest   seconds between two gradients of the worker, at most
    """

    def __init__(self, job: Photographs, every: int) -> None:
        self.job, self.every = job, every
        self.longest = 0.0
        self._last: float | None = None

    def gradient(
        self, flat: torch.Tensor, worker: int, step: int, workers: int
    ) -> tuple[float, torch.Tensor, int]:
        """The job's own."""
        loss, gradient, samples = self.job.gradient(flat, worker, step, workers)
        now = time.monotonic()
        if self._last is not None:
            self.longest = max(self.longest, now - self._last)
        self._last = now
        if step % self.every == 0:
            print(f"worker {worker}: step {step}, loss {loss:.4f}", flush=True)
        return loss, gradient, samples


class OnceAllAreHere:
    """The rule, which lets nobody begin before all workers have come: programs start slowly."""

    def __init__(self, chosen: argparse.Namespace, server: Server) -> None:
        self.rule = rule_of(chosen.rule)
        self.together = self.rule.together
        self._server, self._workers = server, chosen.workers

    def __str__(self) -> str:
        return f"{self.rule}, once all workers are here"

    def may_begin(self, worker: int, finished: Sequence[int]) -> bool:
        """As the rule says."""
        all_here = len(self._server.greeted) == self._workers
        return all_here and self.rule.may_begin(worker, finished)


def run_here(chosen: argparse.Namespace) -> None:
    """All roles as processes of this machine."""
    with Cluster(servers=2, workers=chosen.workers, timeout=chosen.timeout) as cluster:
        seconds = [chosen.seconds] * chosen.workers
        run = cluster.train(
            Photographs(chosen.batch),
            rule_of(chosen.rule),
            chosen.steps,
            seconds=seconds,
            rate=chosen.learning_rate,
        )
    tell(chosen, "server 0", list(run.logs[0]), run.repeated)


def serve(chosen: argparse.Namespace) -> None:
    """One server, or the copy of the first one, until all steps are done and all workers gone."""
    name = f"{chosen.role} {chosen.index}"
    address = chosen.copy if chosen.role == "copy" else chosen.servers[chosen.index]
    host, _, port = address.rpartition(":")
    job = Photographs(chosen.batch)
    with ExitStack() as at_the_end:
        kind = {"is_copy": chosen.role == "copy", "number": chosen.index}
        server = Server(secret_in(chosen.secret), host, int(port), **kind)
        at_the_end.callback(server.close)
        print(f"{name} listens at {server.address}", flush=True)
        copy = None
        if chosen.role == "server" and chosen.index == 0 and chosen.copy:
            known = (job.fingerprint(), secret_in(chosen.secret))
            copy = Copy(chosen.copy, *known, chosen.timeout)
            at_the_end.callback(copy.close)
        shard = shard_of(chosen, name, server, copy)
        server.serve(shard, job.fingerprint())
        await_end(chosen, name, server, shard)
        notes, repeated, _ = shard.log()
    tell(chosen, name, notes, repeated)


def shard_of(chosen: argparse.Namespace, name: str, server: Server, copy: Copy | None) -> Shard:
    """The server's part of the weights, new or from its checkpoint."""
    weights = Photographs(chosen.batch).start()
    shard = Shard(
        weights.tensor_split(len(chosen.servers))[chosen.index],
        rule_of(chosen.rule) if chosen.role == "copy" else OnceAllAreHere(chosen, server),
        chosen.workers,
        chosen.learning_rate,
        limit=Limit(chosen.steps) if chosen.index == 0 else None,
        once=not chosen.at_least_once,
        forward=copy and copy.push,
        announce=copy and copy.begin,
        after=lambda shard: after_push(chosen, name, shard),
    )
    if chosen.checkpoint and chosen.checkpoint.exists():
        found = last_good_checkpoint(chosen.checkpoint)
        shard.load_state(found.fields, found.tensors)
        print(f"{name} begins with {len(shard.notes)} gradients {found.note}", flush=True)
    return shard


def await_end(chosen: argparse.Namespace, name: str, server: Server, shard: Shard) -> None:
    """Until all steps are done and the workers know; raises ServerError where that never comes."""
    end = time.monotonic() + chosen.patience
    while (done := sum(shard.finished)) < chosen.steps:
        if server.replica_state.state == "deposed":
            raise ServerError(f"The copy at {chosen.copy} has taken over from {name}.")
        if time.monotonic() > end:
            raise ServerError(f"{name}: {done} of {chosen.steps} steps in {chosen.patience:g} s.")
        time.sleep(GLANCE)
    end = time.monotonic() + chosen.timeout  # a worker whose host has died never leaves
    while not server.idle and time.monotonic() < end:
        time.sleep(GLANCE)


def after_push(chosen: argparse.Namespace, name: str, shard: Shard) -> None:
    """Tells how far the server is, and writes its checkpoint."""
    count = sum(shard.finished)
    if count % chosen.every == 0:
        print(f"{name}: {count} gradients", flush=True)
    if chosen.checkpoint and count % chosen.save_every == 0:
        save_checkpoint(chosen.checkpoint, *shard.state())


def take_part(chosen: argparse.Namespace) -> None:
    """One worker, until there is no step left."""
    photographs = Photographs(chosen.batch)
    job = Telling(photographs, chosen.every)
    copies = [chosen.copy, *[None] * (len(chosen.servers) - 1)]
    known = (chosen.index, photographs.fingerprint(), secret_in(chosen.secret))
    client = Client(chosen.servers, *known, chosen.timeout, copies)
    try:
        steps = work(client, job, chosen.workers, chosen.seconds)
    finally:
        client.close()
    figures = {"steps": steps, "longest": job.longest}
    print(f"worker {chosen.index}: {steps} steps, longest wait {job.longest:.1f} s", flush=True)
    if chosen.out:
        chosen.out.write_text(json.dumps(figures), "utf-8")


def tell(chosen: argparse.Namespace, name: str, notes: list[Note], repeated: int) -> None:
    """What the log of a server says; with --out also as JSON."""
    distinct = len({(note.worker, note.step) for note in notes})
    figures = {
        "gradients": len(notes),
        "surplus": len(notes) - distinct,
        "updates": len({note.version for note in notes}),
        "repeated": repeated,
        "staleness": max(note.staleness for note in notes),
        "lead": max(note.lead for note in notes),
        "seconds": notes[-1].moment - notes[0].moment,
        "moments": [note.moment for note in notes],
        "workers": [note.worker for note in notes],
        "loss": sum(note.loss for note in notes[-chosen.workers :]) / chosen.workers,
    }
    print(
        f"{name}: {figures['gradients']} gradients in {figures['updates']} updates, "
        f"{repeated} came again, staleness at most {figures['staleness']}, "
        f"{figures['seconds']:.2f} s, last loss {figures['loss']:.4f}",
        flush=True,
    )
    if chosen.out:
        chosen.out.write_text(json.dumps(figures), "utf-8")


def arguments(words: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Train a small network by parameter servers.")
    add = parser.add_argument
    add("--role", choices=("server", "copy", "worker"), help="without one, all run here")
    add("--index", type=int, default=0, help="number of the server or worker, from 0 on")
    add("--servers", help="host:port of each server, with commas between them")
    add("--copy", help="host:port of the first server's copy")
    add("--secret", type=Path, help="a file that all roles hold alike, and nobody else")
    add("--workers", type=int, default=3, help="how many there are")
    add("--rule", default="async", help="sync, async or bounded:S")
    add("--steps", type=int, default=120, help="of all workers together")
    add("--batch", type=int, default=16, help="photographs for a worker's step")
    add("--learning-rate", type=float, default=0.1)
    add("--seconds", type=float, default=0.0, help="that a worker's step takes at least")
    add("--every", type=int, default=10, help="steps between two lines of output")
    add("--at-least-once", action="store_true", help="apply a push again that comes again")
    add("--checkpoint", type=Path, help="a server's file")
    add("--save-every", type=int, default=30, help="gradients between two checkpoints")
    add("--timeout", type=float, default=60.0, help="seconds for an answer of a server")
    add("--patience", type=float, default=600.0, help="seconds that a server waits for all steps")
    add("--out", type=Path, help="a file for the figures, as JSON")
    chosen = parser.parse_args(words)
    if chosen.role is None and (chosen.servers or chosen.copy or chosen.checkpoint):
        parser.error("--servers, --copy and --checkpoint need --role: say what this process is.")
    if chosen.role is not None:
        chosen.servers = (chosen.servers or "").split(",")
        numbers = {"server": len(chosen.servers), "copy": 1, "worker": chosen.workers}
        if not 0 <= chosen.index < numbers[chosen.role]:
            parser.error(
                f"There is no {chosen.role} {chosen.index}: --index is from 0 to "
                f"{numbers[chosen.role] - 1}."
            )
        for address in filter(None, [*chosen.servers, chosen.copy]):
            if not address.rpartition(":")[2].isdecimal() or not address.rpartition(":")[0]:
                parser.error(f"An address is host:port, such as 10.0.0.1:4700, not {address!r}.")
        if chosen.servers == [""]:
            parser.error(f"A {chosen.role} needs --servers host:port,...: where the servers are.")
        if chosen.role == "copy" and not chosen.copy:
            parser.error("A copy needs --copy host:port: where it listens.")
        if chosen.secret is None:
            parser.error(
                f"A {chosen.role} needs --secret FILE: what all roles hold, and only they."
            )
    return chosen


def main(words: list[str] | None = None) -> int:
    """Runs the role; returns the exit status."""
    torch.set_num_threads(1)
    chosen = arguments(words)
    roles = {None: run_here, "server": serve, "copy": serve, "worker": take_part}
    try:
        roles[chosen.role](chosen)
    except SENTENCES as error:
        print(f"train_ps: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
