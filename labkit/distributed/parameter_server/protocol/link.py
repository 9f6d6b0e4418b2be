"""One connection to one server, made anew when it breaks.

    link = Link({"server 0": "127.0.0.1:40123"}, 0, fingerprint, secret)    # of worker 0
    pulled = link.pull(step=0)
    link.push(0, pulled.version, gradient, loss, samples)

A request that got no answer is sent again until its time is over: servers take it twice without
harm, since a push carries its worker and its step. Lesson parameter_servers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from labkit.distributed.connections.door import Place, knock
from labkit.distributed.connections.handshake import HandshakeError
from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.notes import Note, Pulled
from labkit.distributed.parameter_server.protocol.wire import Wire

if TYPE_CHECKING:
    import torch

TIMEOUT = 60.0  # seconds for an answer
PATIENCE = 0.8  # share of it that a server may wait for others: its sentence says for whom
PAUSE = 0.05  # seconds between two attempts
BROKEN = (OSError, EOFError)  # a new connection may cure it; time-outs and WireError are OSError


class ImpostorError(ServerError):
    """Who listens at a server's address has not proved that it is this server."""


class Link:
    """A worker's link to one server.

    servers     addresses by name, "server 0" or "copy 0": a server and its copy, if there is one;
                "host:port", or the path of a socket file
    secret      of the cluster, which server and worker prove to each other (handshake.py)
    leads       whether a server speaks here, to its copy
    finished    steps of this worker that the server has taken, as it said last

    With a copy, each of the two addresses has half of the time. A connection that breaks is made
    anew to the same address; a worker turns to the other one where nobody greets it, or somebody
    else does, and where an answer does not come in time.
    """

    def __init__(
        self,
        servers: Mapping[str, str],
        worker: int | None,
        fingerprint: str,
        secret: bytes,
        timeout: float = TIMEOUT,
        leads: bool = False,
    ) -> None:
        self.names = list(servers)
        self.addresses = list(servers.values())
        self._places = [_place(address) for address in self.addresses]
        self.worker, self.fingerprint, self.timeout = worker, fingerprint, timeout
        self.leads, self._secret = leads, secret
        self.finished = 0
        self._place = 0  # of the address in use
        self._wire: Wire | None = None
        self._greeted = False  # over this connection

    @property
    def address(self) -> str:
        """The address in use."""
        return self.addresses[self._place]

    def connect(self) -> dict[str, Any]:
        """Connects now, and returns what the server says of itself and of this worker."""
        said, _ = self.ask({"kind": "hello", **self._self()}, purpose="its greeting")
        return said

    def pull(self, step: int) -> Pulled | None:
        """The server's part of the weights for a step; None: there is none left.

        A server that has this step already only gives its values.
        """
        said, tensors = self.ask(
            {"kind": "pull", "step": step, "patience": PATIENCE * self._share},
            purpose=f"the weights for its step {step}",
        )
        if said["over"]:
            return None
        self.finished = said["step"]
        return Pulled(tensors["values"], said["version"], said["step"], said["held"])

    def push(
        self, step: int, version: int, gradient: torch.Tensor, loss: float, samples: int
    ) -> None:
        """Hands over the gradient of a step."""
        fields = {"kind": "push", "step": step, "version": version, "loss": loss}
        fields |= {"samples": samples, "patience": PATIENCE * self._share}
        said, _ = self.ask(fields, {"gradient": gradient}, f"the receipt of its step {step}")
        self.finished = said["finished"]

    def log(self) -> tuple[list[Note], int, torch.Tensor]:
        """The server's notes, how many pushes came again, and its values."""
        said, tensors = self.ask({"kind": "log"}, purpose="its log")
        return [Note(*note) for note in said["notes"]], said["repeated"], tensors["values"]

    def ask(
        self,
        fields: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor] | None = None,
        purpose: str = "an answer",
    ) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """The answer to a request, over a new connection where the old one breaks.

        Raises ServerError with the server's own words where it refuses, with its address, what was
        waited for and how long, where it does not answer in time, and where only impostors do.
        """
        end = time.monotonic() + self.timeout
        while True:
            try:
                return self.attempt(fields, tensors, min(self._share, end - time.monotonic()))
            except BROKEN as error:
                greeted = self._greeted and not isinstance(error, TimeoutError)
                self.close()
                if time.monotonic() + PAUSE >= end:
                    raise ServerError(self._no_answer(purpose, error)) from None
            except ImpostorError:
                greeted = False
                if len(self.addresses) == 1 or time.monotonic() + PAUSE >= end:
                    raise
            if not greeted:
                self._place = (self._place + 1) % len(self.addresses)
            time.sleep(PAUSE)

    def attempt(
        self,
        fields: Mapping[str, Any],
        tensors: Mapping[str, torch.Tensor] | None = None,
        seconds: float | None = None,
    ) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
        """The answer to a request that is sent once; what breaks is raised as it is, BROKEN."""
        seconds = self.timeout if seconds is None else seconds
        return self._asked(fields, tensors, time.monotonic() + seconds)

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._wire is not None:
            with suppress(OSError):
                self._wire.connection.close()
            self._wire = None
            self._greeted = False

    @property
    def _share(self) -> float:
        """Seconds for one of the addresses."""
        return self.timeout / len(self.addresses)

    def _asked(self, fields: Mapping, tensors: Mapping | None, end: float) -> tuple[dict, dict]:
        if self._wire is None:
            try:
                said = self._greet(end)
            except ServerError:
                self.close()  # the next request begins with a greeting again
                raise
            if fields["kind"] == "hello":
                return said, {}
        return self._exchanged(fields, tensors, end)

    def _greet(self, end: float) -> dict:
        name = self.names[self._place]
        try:
            place = self._places[self._place]
            self._wire = Wire(*knock(place, self._secret, name, _until(end)))
        except HandshakeError:
            raise ImpostorError(
                f"Server {self.address} and {self._name()} do not hold the same secret, or it is "
                f"not {name}: each cluster has its own secret, which all its roles are given. "
                f"Or another program listens there: {_stranger(self.address)}"
            ) from None
        said, _ = self._exchanged({"kind": "hello", **self._self()}, None, end)
        self.finished = said["finished"]
        self._greeted = True
        return said

    def _exchanged(self, fields: Mapping, tensors: Mapping | None, end: float) -> tuple[dict, dict]:
        self._wire.send(fields, tensors, _until(end))
        said, values = self._wire.receive(_until(end))
        if "error" in said:
            raise ServerError(f"Server {self.address} refuses {self._name()}: {said['error']}")
        return said, values

    def _self(self) -> dict[str, Any]:
        return {"worker": self.worker, "fingerprint": self.fingerprint, "leads": self.leads}

    def _name(self) -> str:
        return "a request" if self.worker is None else f"worker {self.worker}"

    def _no_answer(self, purpose: str, error: Exception) -> str:
        names = " and its copy ".join(self.addresses)
        who = "Somebody" if self.worker is None else f"Worker {self.worker}"
        why = (
            "nothing came"
            if isinstance(error, TimeoutError)
            else str(error) or type(error).__name__
        )
        return (
            f"{who} waited {self.timeout:g} s for {purpose}, and server {names} did not answer "
            f"({why.rstrip('.')}). Does it run, and can this host reach it? "
            f"Or has another program taken its place: {_stranger(self.address)}"
        )


def _stranger(address: str) -> str:
    """How to find who listens at an address, and what to do."""
    port = address.rpartition(":")[2]
    wanted = f"-x src {address}" if "/" in address else f"-tp 'sport = :{port}'"
    return f"on its host, `ss -nl {wanted}` names it; end it, or give all roles another place."


def _until(end: float) -> float:
    """Seconds until this moment, at least PAUSE: what has begun late is tried, too."""
    return max(end - time.monotonic(), PAUSE)


def _place(address: str) -> Place:
    """What to call: a path begins with a slash."""
    if address.startswith("/"):
        return address
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ServerError(
            f"A server's address is host:port, such as 127.0.0.1:40123, not {address!r}."
        )
    return host, int(port)


def by_name(number: int, server: str, copy: str | None) -> dict[str, str]:
    """The addresses of a server, and of its copy, if it has one."""
    return {f"server {number}": server, **({f"copy {number}": copy} if copy else {})}
