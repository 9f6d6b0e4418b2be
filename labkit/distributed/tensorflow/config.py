"""TF_CONFIG: which processes a TensorFlow cluster has, and which of them this one is.

    cluster = {"chief": ["a:7000"], "ps": ["a:7001", "b:7001"], "worker": ["a:7002", "b:7002"]}
    tf_config(cluster, "worker", 1)     # JSON, for the environment of the worker at b:7002

All processes get the same cluster, and each its own role and index. TensorFlow itself waits for
ever for a host that does not answer; `await_others` ends with a sentence that names it. Lesson
faults.
"""

import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ROLES = ("chief", "ps", "worker")
VARIABLE = "TF_CONFIG"
TRY = 2.0  # seconds for one answer
PAUSE = 0.1  # seconds between two tries
# HTTP/2, which gRPC speaks: what a client says first, and an empty frame of type SETTINGS.
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = 4  # the type of a server's first frame, its fourth byte


class TfConfigError(ValueError):
    """A TF_CONFIG that no cluster can be made of, or a host of it that does not answer."""


@dataclass(frozen=True)
class Place:
    """The whole cluster, as addresses "host:port" by role; and one process's place in it."""

    cluster: dict[str, list[str]]
    role: str
    index: int

    @property
    def others(self) -> dict[str, str]:
        """The address of every server and worker, by names such as "ps 0"."""
        named = {}
        for role in ("ps", "worker"):
            for index, address in enumerate(self.cluster[role]):
                named[f"{role} {index}"] = address
        return named


def tf_config(cluster: Mapping[str, Sequence[str]], role: str, index: int = 0) -> str:
    """The TF_CONFIG of one process, as JSON; raises TfConfigError as `read` does."""
    hosts = {name: list(addresses) for name, addresses in cluster.items()}
    text = json.dumps({"cluster": hosts, "task": {"type": role, "index": index}})
    read(text)
    return text


def read(text: str | None) -> Place:
    """The place that a TF_CONFIG names.

    Raises TfConfigError, with what is wrong, where, and what to do: for no text or no JSON, a role
    that does not exist, an index beyond the role's addresses, and an address that is none.
    """
    if not text:
        raise TfConfigError(
            f"{VARIABLE} is not set: give each process the cluster's addresses, its role and its "
            "index, as JSON in this variable of the environment."
        )
    try:
        said = json.loads(text)
    except json.JSONDecodeError as error:
        raise TfConfigError(
            f"{VARIABLE} is no JSON: {error.msg} at character {error.pos}, "
            f"{text[error.pos : error.pos + 20]!r}. Names and addresses stand in double quotes."
        ) from None
    cluster = _part(said, "cluster")
    task = _part(said, "task")
    for role in [*ROLES, *cluster]:
        _refuse_addresses(role, cluster.get(role))
    _refuse_twice(cluster)
    role = task.get("type")
    _refuse_role(role, "task")
    index = task.get("index")
    count = len(cluster[role])
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count:
        raise TfConfigError(
            f"{VARIABLE}: the task's index is {index!r}, and the cluster has {count} of the role "
            f"{role!r}: an index from 0 to {count - 1}."
        )
    return Place(cluster, role, index)


def await_others(place: Place, patience: float) -> None:
    """Waits until every server and worker of the cluster answers.

    patience   seconds, after which TfConfigError names those that do not, and why
    """
    silent = place.others
    reasons: dict[str, str] = {}
    end = time.monotonic() + patience
    while True:
        for name, address in list(silent.items()):
            reasons[name] = _silence(address, max(min(TRY, end - time.monotonic()), 0.1))
            if not reasons[name]:
                del silent[name]
        if not silent:
            return
        if time.monotonic() > end:
            break
        time.sleep(PAUSE)
    told = "; ".join(f"{name} at {silent[name]} ({reasons[name]})" for name in silent)
    raise TfConfigError(
        f"No answer within {patience:g} s from {told}. Start that process, or correct its address "
        f"in the {VARIABLE} of all processes."
    )


def answers(address: str) -> bool:
    """Whether a TensorFlow process answers at "host:port" now."""
    return not _silence(address, TRY)


def _part(value: object, name: str) -> dict:
    """One of the two parts of a TF_CONFIG."""
    part = value.get(name) if isinstance(value, dict) else None
    if not isinstance(part, dict):
        raise TfConfigError(
            f'{VARIABLE} lacks "{name}": it has the form '
            '{"cluster": {"chief": [...], "ps": [...], "worker": [...]}, '
            '"task": {"type": "worker", "index": 0}}.'
        )
    return part


def _refuse_role(role: object, where: str) -> None:
    if role not in ROLES:
        raise TfConfigError(
            f"{VARIABLE}: the role {role!r} in the {where} does not exist; the roles are "
            f"{', '.join(ROLES)}."
        )


def _refuse_addresses(role: str, addresses: object) -> None:
    _refuse_role(role, "cluster")
    if not isinstance(addresses, list) or not addresses:
        raise TfConfigError(
            f'{VARIABLE}: the cluster has no {role!r}; it needs a list of addresses "host:port".'
        )
    if role == "chief" and len(addresses) > 1:
        raise TfConfigError(f"{VARIABLE}: a cluster has one chief, not {len(addresses)}.")
    for address in addresses:
        host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
        if not (host and port.isdecimal() and 0 < int(port) < 65536):
            raise TfConfigError(
                f"{VARIABLE}: {address!r} of the role {role!r} is no address: it has the form "
                '"host:port", with a port from 1 to 65535.'
            )


def _refuse_twice(cluster: dict[str, list[str]]) -> None:
    seen = set()
    for role, addresses in cluster.items():
        for address in addresses:
            if address in seen:
                raise TfConfigError(
                    f"{VARIABLE}: {address!r} stands twice, the second time as {role!r}; each "
                    "process has an address of its own."
                )
            seen.add(address)


def _silence(address: str, seconds: float) -> str:
    """Why no gRPC server answers at an address; "" if one does."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(GREETING)
            answer = connection.recv(4)
    except TimeoutError:
        return "it does not answer"
    except OSError as error:
        return (error.strerror or str(error)).lower()
    if len(answer) < 4 or answer[3] != SETTINGS:
        return "what answers there is no TensorFlow process"
    return ""
