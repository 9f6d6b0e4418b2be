"""Exercise distributed.tf_config: which process is who, and wrong ideas of it.

An address is told as its place among all processes, a task by role and index. Lesson faults.

Dense: every idea of who is who has the same four arguments.
"""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit_lessons.distributed.faults import solutions
from labkit_lessons.distributed.faults.tf_config_answers import (
    ROLES,
    Places,
    as_places,
    in_words,
    read_as_places,
)

HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.7")
Task = tuple[str, int]  # role and index


def processes(
    rng: np.random.Generator, size: int, servers: int, number: int, equal: bool = False
) -> tuple[list[str], np.ndarray, int, int]:
    """Hosts and ports of so many processes, and which one of them asks; ports in no order.

    equal   neighbours on unlike hosts have the same port
    """
    if equal:
        places = np.arange(size)
        hosts = [HOSTS[place % len(HOSTS)] for place in places]
        return hosts, 7000 + (places + 1) // len(HOSTS), servers, number
    hosts = [HOSTS[place] for place in rng.integers(len(HOSTS), size=size)]
    ports = 2000 + rng.permutation(9000)[:size]
    return hosts, ports, servers, number


def dealt(size: int, chiefs: int, servers: int) -> dict[str, list[int]]:
    """Places 0 to size - 1, of each role, in this order."""
    places = list(range(size))
    parts = places[:chiefs], places[chiefs : chiefs + servers], places[chiefs + servers :]
    return dict(zip(ROLES, parts, strict=True))


def task_of(number: int, servers: int) -> Task:
    """Role and index of a process: the coordinator first, then the servers, then the workers."""
    if number == 0:
        return "chief", 0
    if number <= servers:
        return "ps", number - 1
    return "worker", number - 1 - servers


def everybody(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """All addresses by role, and the task of this process."""
    return as_places(dealt(len(ports), 1, servers), *task_of(number, servers))


# --- wrong ideas of the task


def with_task(task: Callable[[int, int], Task]) -> Callable[..., Places]:
    """As if a process's role and index were task(number, servers)."""

    def wrong(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        return as_places(dealt(len(ports), 1, servers), *task(number, servers))

    return wrong


def with_index(index: Callable[[int, int], int], *roles: str) -> Callable[..., Places]:
    """As if the index of these roles were index(number, the right index)."""

    def task(number: int, servers: int) -> Task:
        role, right = task_of(number, servers)
        return role, index(number, right) if role in roles else right

    return with_task(task)


def last_server_works(number: int, servers: int) -> Task:
    """As if there were one server less."""
    return ("worker", -1) if number == servers > 0 else task_of(number, servers)


def first_worker_serves(number: int, servers: int) -> Task:
    """As if there were one server more."""
    return ("ps", servers) if number == servers + 1 else task_of(number, servers)


def found_by(part: Callable[[str, int], object]) -> Callable[..., Places]:
    """As if a process were the first one with the same part(host, port) of its address."""

    def wrong(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        parts = [part(host, int(port)) for host, port in zip(hosts, ports, strict=True)]
        first = parts.index(parts[number])
        return as_places(dealt(len(ports), 1, servers), *task_of(first, servers))

    return wrong


# --- wrong ideas of the cluster


def with_cluster(cluster: Callable[[int, int, int], dict]) -> Callable[..., Places]:
    """As if the cluster were cluster(how many processes, servers, number)."""

    def wrong(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        return as_places(cluster(len(ports), servers, number), *task_of(number, servers))

    return wrong


def workers_first(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if the workers' addresses came before those of the servers."""
    cluster = dealt(size, 1, size - 1 - servers)
    return cluster | {"ps": cluster["worker"], "worker": cluster["ps"]}


def servers_before_chief(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if the servers were the first processes."""
    places = list(range(size))
    parts = places[servers : servers + 1], places[:servers], places[servers + 1 :]
    return dict(zip(ROLES, parts, strict=True))


def others_only(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if a process did not need to know itself."""
    cluster = dealt(size, 1, servers)
    return {role: [one for one in places if one != number] for role, places in cluster.items()}


def two_servers(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if `servers` were 2, or as many as there can be."""
    return everybody(hosts, ports, min(2, len(ports) - 1), number)


def trains_too(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if the coordinator were a worker as well."""
    cluster = dealt(size, 1, servers)
    return cluster | {"worker": cluster["chief"] + cluster["worker"]}


def last_server_too(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if the workers began one place too early."""
    return dealt(size, 1, servers) | {"worker": list(range(servers, size))}


def last_one_missing(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if the last worker had no address."""
    cluster = dealt(size, 1, servers)
    return cluster | {"worker": cluster["worker"][:-1]}


def in_sorted_order(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if the addresses had been sorted before they were dealt."""
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    order = sorted(range(len(addresses)), key=addresses.__getitem__)
    cluster = dealt(len(ports), 1, servers)
    moved = {role: [order[place] for place in places] for role, places in cluster.items()}
    return as_places(moved, *task_of(number, servers))


def alone(size: int, servers: int, number: int) -> dict[str, list[int]]:
    """As if each process knew itself only."""
    cluster = dealt(size, 1, servers)
    return {role: [one for one in places if one == number] for role, places in cluster.items()}


WRONG = dict(
    counted_through=with_index(lambda number, right: number, *ROLES),
    from_one=with_index(lambda number, right: right + 1, *ROLES),
    from_one_but_chief=with_index(lambda number, right: right + 1, "ps", "worker"),
    servers_from_one=with_index(lambda number, right: right + 1, "ps"),
    workers_from_one=with_index(lambda number, right: right + 1, "worker"),
    behind_the_servers=with_index(lambda number, right: number - 1, "worker"),
    workers_by_number=with_index(lambda number, right: number, "worker"),
    first_of_role=with_index(lambda number, right: 0, *ROLES),
    all_the_coordinator=with_task(lambda number, servers: ("chief", 0)),
    all_workers=with_task(lambda number, servers: ("worker", task_of(number, servers)[1])),
    by_port=found_by(lambda host, port: port),
    by_host=found_by(lambda host, port: host),
    last_server_works=with_task(last_server_works),
    first_worker_serves=with_task(first_worker_serves),
    no_coordinator=with_cluster(lambda size, servers, number: dealt(size, 0, servers)),
    workers_first=with_cluster(workers_first),
    two_servers=two_servers,
    servers_before_chief=with_cluster(servers_before_chief),
    others_only=with_cluster(others_only),
    trains_too=with_cluster(trains_too),
    last_server_too=with_cluster(last_server_too),
    last_one_missing=with_cluster(last_one_missing),
    in_sorted_order=in_sorted_order,
    alone=with_cluster(alone),
)

tf_config = exercise(
    "distributed.tf_config",
    oracle=everybody,
    cases=cases_of(
        {
            "a worker": (6, 2, 4),
            "a coordinator alone": (1, 0, 0),
            "a server": (5, 2, 2),
            "one server": (5, 1, 1),
            "the coordinator": (7, 3, 0),
            "the last worker": (11, 4, 10),
            "equal ports": (13, 5, 6, True),
            "many": (40, 8, 7),
        },
        processes,
    ),
    wrong=WRONG,
    forbidden=LIBRARIES,
    outputs=("chief", "ps", "worker", "task"),
    groups=(frozenset({0, 1, 2}),),  # the cluster; the task stands alone
    adapter=lambda answer: read_as_places(answer),
    plain=lambda answer, *given: read_as_places(answer)(*given),
    fallback=solutions.tf_config,
    wording=in_words,
    general_causes=False,
    plain_python=True,
    dtype="any",
)
