"""What a TF_CONFIG says, as numbers that a check can compare: exercise distributed.tf_config.

    read_as_places(answer)(hosts, ports, servers, number) -> chief [1], ps [S], worker [W], task

An address is told as its place among the processes; the task, as the place of the address that
its type and index name in the cluster. Lesson faults.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from labkit.checks.items import Refused, Unsolved

ROLES = ("chief", "ps", "worker")
Places = tuple[np.ndarray, np.ndarray, np.ndarray, int]
NOWHERE = -1  # the place of a task that the cluster does not have


def as_places(cluster: Mapping[str, Sequence[int]], task: int) -> Places:
    """The places of each role as arrays, and that of the task."""
    chief, ps, worker = (np.array(cluster[role], dtype=int) for role in ROLES)
    return chief, ps, worker, task


def read_as_places(answer: object) -> Callable[..., Places]:
    """A function like the answer, with numbers in the place of its text, or Refused."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def places(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
        text = answer(hosts, ports, servers, number)
        return read(text, addresses)

    return places


def read(text: object, addresses: Sequence[str]) -> Places:
    """The places that a TF_CONFIG tells; Refused with what is wrong with it."""
    config = _loaded(text)
    if config == {"cluster": {}, "task": {}}:
        raise Unsolved("the text says nothing")
    cluster = {role: [] for role in ROLES}
    for role, members in _part(config, "cluster").items():
        if role not in ROLES:
            raise Refused(
                f"The cluster has a role {role!r}, which is none of chief, ps and worker."
            )
        if not isinstance(members, list):
            raise Refused(f"The role {role!r} of the cluster is no list of addresses.")
        cluster[role] = [_place(address, addresses) for address in members]
    return as_places(cluster, _task(_part(config, "task"), cluster))


def _loaded(text: object) -> object:
    if text is None:
        raise Refused("The function returns nothing: `return` the text.")
    if not isinstance(text, str):
        raise Refused(
            f"TF_CONFIG is a text, since it is a variable of the environment; this is of type "
            f"{type(text).__name__}. `json.dumps` makes a text."
        )
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        quotes = " JSON has double quotes: `json.dumps` writes them." if "'" in text else ""
        raise Refused(f"The text is no JSON: {error}.{quotes}") from None


def _part(config: object, name: str) -> dict:
    found = config.get(name) if isinstance(config, dict) else None
    if not isinstance(found, dict):
        raise Refused(f'The text has no "{name}": it is {{"cluster": {{...}}, "task": {{...}}}}.')
    return found


def _place(address: object, addresses: Sequence[str]) -> int:
    if address not in addresses:
        raise Refused(
            f"{address!r} is the address of no process: an address is a host, a colon and a port, "
            f"as in {addresses[0]!r}."
        )
    return addresses.index(address)


def _task(task: Mapping[str, object], cluster: Mapping[str, list[int]]) -> int:
    """The place of the address that the task names."""
    role, index = task.get("type"), task.get("index")
    if role not in ROLES:
        raise Refused(f'The task\'s "type" is {role!r}, which is none of chief, ps and worker.')
    if type(index) is not int:
        raise Refused(f'The task\'s "index" is {index!r}; it is a whole number.')
    members = cluster[role]
    return members[index] if 0 <= index < len(members) else NOWHERE
