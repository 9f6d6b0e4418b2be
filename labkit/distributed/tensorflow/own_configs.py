"""The TF_CONFIG of each process of a TensorFlow cluster, by its name: who writes it, and a check.

    own_configs(servers=1, workers=2)    # {"coordinator": "{...}", "server 0": "{...}", ...}

Lesson faults.
"""

from collections.abc import Callable, Sequence
from itertools import islice

from labkit.distributed.tensorflow.config import TfConfigError, read, tf_config
from labkit.distributed.tensorflow.turns import free_ports

COORDINATOR = "coordinator"
LOCAL = "127.0.0.1"
Writer = Callable[[list[str], list[int], int, int], str]  # of hosts, ports, servers, number


def name_of(role: str, index: int) -> str:
    """What we call a process: "coordinator", "server 0", "worker 2"."""
    return {"chief": COORDINATOR, "ps": f"server {index}", "worker": f"worker {index}"}[role]


def own_configs(
    servers: int, workers: int, hosts: Sequence[str] = (LOCAL,), write: Writer | None = None
) -> dict[str, str]:
    """The TF_CONFIG of each process, at ports at which nobody listens.

    hosts   addresses to deal the processes of each role to in turn
    write   who writes each text, from the addresses of all; by default `written`

    Raises TfConfigError for a text that is none, or another process's.
    """
    tasks = [("chief", 0)]
    tasks += [("ps", index) for index in range(servers)]
    tasks += [("worker", index) for index in range(workers)]
    places = [hosts[index % len(hosts)] for _, index in tasks]
    ports = list(islice(free_ports(), len(tasks)))
    texts = {}
    for number, (role, index) in enumerate(tasks):
        text = (write or written)(list(places), list(ports), servers, number)
        _refuse_anothers(text, number, role, index)
        texts[name_of(role, index)] = text
    return texts


def written(hosts: list[str], ports: list[int], servers: int, number: int) -> str:
    """The TF_CONFIG of a process, by its number: the coordinator, then servers, then workers."""
    addresses = [f"{host}:{port}" for host, port in zip(hosts, ports, strict=True)]
    first_worker = 1 + servers
    cluster = {
        "chief": addresses[:1],
        "ps": addresses[1:first_worker],
        "worker": addresses[first_worker:],
    }
    if number == 0:
        return tf_config(cluster, "chief")
    if number < first_worker:
        return tf_config(cluster, "ps", number - 1)
    return tf_config(cluster, "worker", number - first_worker)


def _refuse_anothers(text: str, number: int, role: str, index: int) -> None:
    place = read(text)
    if (place.role, place.index) != (role, index):
        raise TfConfigError(
            f"The TF_CONFIG of process {number} is for {place.role} {place.index}; this process "
            f"is {role} {index}."
        )
