"""What a TF_CONFIG says, as numbers that a check can compare: exercise distributed.tf_config.

    read_as_places(answer)(hosts, ports, servers, number) -> chief [1], ps [S], worker [W], task [2]

An address is told as its place among the processes; the task, as the place of its type among the
three roles, and its index. `in_words` tells them as a person would. Lesson faults.
"""

import json
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function

ROLES = ("chief", "ps", "worker")
Places = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
LISTED = 8  # places that a sentence names


def as_places(cluster: Mapping[str, Sequence[int]], role: str, index: int) -> Places:
    """The places of each role as arrays, and the task of this role and index."""
    chief, ps, worker = (np.array(cluster[role], dtype=int) for role in ROLES)
    return chief, ps, worker, np.array([ROLES.index(role), index])


def in_words(given: tuple, output: str, got: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong with the task, or with the addresses of a role, in a sentence."""
    number = given[-1]
    if output == "task":
        return f"The task is that of {_task_name(got)}; process {number} is {_task_name(expected)}."
    return (
        f'"{output}" has the addresses of {_listed(got)}; these should be those of '
        f"{_listed(expected)}."
    )


def _task_name(task: np.ndarray) -> str:
    """ "worker 2", by the type and index of a task."""
    role, index = task.tolist()
    return f"{ROLES[role]} {index}"


def _listed(places: np.ndarray) -> str:
    """ "the processes 3, 4 and 5"."""
    names = [str(place) for place in places.tolist()]
    if not names:
        return "no process"
    if len(names) == 1:
        return f"process {names[0]}"
    if len(names) > LISTED:
        return f"the processes {', '.join(names[:LISTED])} and so on, {len(names)} in all"
    return f"the processes {', '.join(names[:-1])} and {names[-1]}"


def read_as_places(answer: object) -> Callable[..., Places]:
    """A function like the answer, with numbers in the place of its text, or Refused."""
    refuse_no_function(answer)

    earlier: set[str] = set()

    def places(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
        text = answer(hosts, ports, servers, number)
        try:
            return read(text, addresses)
        except Refused as refusal:
            old = next((one for one in earlier - set(addresses) if f'"{one}"' in str(text)), None)
            if old is None:
                raise
            raise Refused(
                f"{old!r} is an address of an earlier call: something is kept from one call to the "
                "next, outside the function or in the default of a parameter."
            ) from refusal
        finally:
            earlier.update(addresses)

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
    return as_places(cluster, *_task(_part(config, "task")))


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


def _task(task: Mapping[str, object]) -> tuple[str, int]:
    """The type and the index of a task; Refused where one of them is none."""
    role, index = task.get("type"), task.get("index")
    if role not in ROLES:
        raise Refused(f'The task\'s "type" is {role!r}, which is none of chief, ps and worker.')
    if type(index) is not int:
        raise Refused(f'The task\'s "index" is {index!r}; it is a whole number.')
    return role, index
