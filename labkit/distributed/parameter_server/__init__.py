"""Parameter servers: weights live on servers, and workers pull them and push gradients.

Each name is loaded when it is first used; importing this package does not load torch.

Modules (written by tools/modules.py):

arrivals     In which order workers of unlike speed pull and push: a simulation in virtual time.
checkpoint   A server's checkpoint: what it needs to go on after its death, in one file, whole or
             not at all.
client       A worker's side of the talk: all servers together, and what to do when one does not
             answer.
errors       What goes wrong between servers and workers.
faults       Faults on purpose, at a count and never by a clock: the same ones happen in every run.
notes        What a server hands out, takes and notes: a pull's values, a push, and its line in the
             log.
problem      The problem of all lessons on parameter servers: photographs, and a network of two
             layers.
processes/   Servers and workers as processes of one cluster: started, ordered, watched, ended.
protocol/    What servers and workers say to each other, and who may begin or push when.
replication  A server and its copy: one of them dies, and not one acknowledged update is lost.
rules        Who may begin a step: the rules of a parameter server.
run          What came of a training on a cluster: every number from the servers' logs.
server       A parameter server: a shard that workers reach by a socket, a thread for each
             connection.
shard        One server's part of the weights: who may pull it, and what a push does to it.
training     A training that goes on in a cluster: looked at, waited for, and finished.
worker       A worker: pull, compute, push, until the servers have no step left for it.
"""

from importlib import import_module

_HOMES = {
    "Synchronous": "rules",
    "Asynchronous": "rules",
    "Bounded": "rules",
    "rule_of": "rules",
    "Photographs": "problem",
    "Shard": "shard",
    "Server": "server",
    "Client": "client",
    "Cluster": "processes.cluster",
    "Run": "run",
    "ServerError": "errors",
    "WireError": "errors",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(
            f"labkit.distributed.parameter_server has no {name!r}; it has {', '.join(_HOMES)}."
        )
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
