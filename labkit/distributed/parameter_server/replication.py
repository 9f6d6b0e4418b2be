"""A server and its copy: one of them dies, and not one acknowledged update is lost.

    copy = Copy("10.0.0.2:4700", fingerprint, secret, timeout=60)
    Shard(values, rule, workers, rate, forward=copy.push, announce=copy.begin)

The first server tells its copy of every step that it grants, and of every gradient, before the
worker hears of it. So what a worker believes to be applied is in the copy, too. When the first
server does not answer any more, workers go to the copy; from then on it serves and follows nobody.

The first server may still be alive, behind a cable that is cut. What it would apply now, the copy
would not have: so nothing is acknowledged until the copy has it. Where the copy says that it has
taken over, the first server is deposed, and answers no worker any more.

A connection that breaks says nothing of the copy: the first server makes a new one, and tells it
again, which the copy takes twice without harm. Only where a connection is refused does it go on
alone. For then the copy's host has said that no program listens at its port. This assumes that
nothing between the two refuses in the host's name, as a firewall might, and that a copy that has
ended does not come back during the training; with either, two servers could serve at once. A host
that is silent or not reached may be alive: nothing is acknowledged then.

So is a stranger who has taken a dead copy's port: he reads and changes nothing, but the training
ends. A cluster of this machine has no ports (processes/role_group.py). Where roles are started one
by one, as by train_ps.py, any user of the copy's host can do so. Lesson faults.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from labkit.distributed.parameter_server.errors import ServerError
from labkit.distributed.parameter_server.notes import Push
from labkit.distributed.parameter_server.protocol.link import PAUSE, TIMEOUT, Link

if TYPE_CHECKING:
    import torch


class Unanswered(EOFError):
    """Ends a connection without an answer: who has asked is to ask elsewhere, or once more."""


class Deposed(Unanswered):
    """The copy has taken over."""


class Copy:
    """The first server's link to its copy.

    number   of the server that it is the copy of
    alone    whether the copy's process has ended, so that nothing is forwarded any more

    Raises ServerError for a copy that does not answer within `timeout` seconds, and for one that
    has taken over: a server that comes back later is of use only in the next training.
    """

    def __init__(
        self,
        address: str,
        fingerprint: str,
        secret: bytes,
        timeout: float = TIMEOUT,
        number: int = 0,
    ) -> None:
        self.alone = False
        place = {f"copy {number}": address}
        self._link = Link(place, None, fingerprint, secret, timeout, leads=True)
        if self._link.connect().get("taken over"):
            raise ServerError(
                f"The copy at {address} has taken over already. A server that comes back later is "
                "of use only in the next training."
            )

    def begin(self, worker: int) -> None:
        """Tells of a step that is granted; raises as `push` does."""
        self._tell({"kind": "begin", "of": worker})

    def push(self, push: Push) -> None:
        """Hands on a gradient.

        Raises Deposed where the copy has taken over, and ServerError where it is silent: then
        nobody knows whether it is, and nothing may be acknowledged.
        """
        self._tell({"kind": "follow", "push": push.fields()}, {"gradient": push.gradient})

    def close(self) -> None:
        """Ends the connection."""
        self._link.close()

    def _tell(
        self, fields: Mapping[str, Any], tensors: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        if self.alone:
            return
        try:
            said = self._answer(fields, tensors)
        except ConnectionRefusedError:
            self.alone = True
            return
        except (OSError, EOFError) as error:
            self._link.close()
            raise ServerError(self._no_answer(error)) from None
        if said.get("taken over"):
            raise Deposed

    def _answer(self, fields: Mapping, tensors: Mapping | None) -> dict[str, Any]:
        """The copy's answer, over a new connection where the old one breaks.

        Raises ConnectionRefusedError where there is no copy, and another OSError, or EOFError,
        where nobody knows.
        """
        end = time.monotonic() + self._link.timeout
        while True:
            try:
                return self._link.attempt(fields, tensors, end - time.monotonic())[0]
            except ConnectionRefusedError:
                raise
            except (ConnectionError, EOFError):  # a process that dies may close its port last
                self._link.close()
                if time.monotonic() + PAUSE >= end:
                    raise
            time.sleep(PAUSE)

    def _no_answer(self, error: Exception) -> str:
        why = (
            f"has not answered for {self._link.timeout:g} s"
            if isinstance(error, TimeoutError)
            else f"does not answer ({str(error).rstrip('.') or type(error).__name__})"
        )
        return (
            f"The copy at {self._link.address} {why}. Without it no update is acknowledged: does "
            "it run, and can this host reach it?"
        )


class ReplicaState:
    """What a server is: it serves, or follows another as its copy.

    state   "waits" for the server that it is the copy of, "follows" it, "serves", or is "deposed"
    """

    def __init__(self, is_copy: bool) -> None:
        self.is_copy = is_copy
        self.state = "waits" if is_copy else "serves"
        self._changing = threading.Lock()

    def greet(self, worker: int | None, leads: bool) -> None:
        """Somebody connects: the server that it is the copy of (`leads`), a worker, or a looker.

        With the first worker that comes, a copy takes over. Raises Unanswered for a worker or a
        looker where another server serves, and ServerError for a server that this is no copy of.
        """
        with self._changing:
            if leads:
                self._refuse_if_no_copy()
            elif worker is not None:
                self._serve()
            elif self.state != "serves":
                raise Unanswered

    def hears(self) -> bool:
        """The first server forwards something; whether it is taken.

        Only from then on may a copy take over: before, workers and servers may still be starting,
        in any order.
        """
        with self._changing:
            if self.state == "waits":
                self.state = "follows"
            return self.state == "follows"

    @property
    def has_taken_over(self) -> bool:
        """Whether it is a copy that serves."""
        return self.is_copy and self.state == "serves"

    def depose(self) -> None:
        """The copy has taken over."""
        self.state = "deposed"

    def _refuse_if_no_copy(self) -> None:
        if not self.is_copy:
            raise ServerError("This server follows no other: it was started as no copy.")

    def _serve(self) -> None:
        if self.state in ("waits", "deposed"):
            raise Unanswered
        self.state = "serves"
