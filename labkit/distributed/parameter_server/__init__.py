"""Parameter servers: weights live on servers, and workers pull them and push gradients.

Each name is loaded when it is first used; importing this package does not load torch.
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
