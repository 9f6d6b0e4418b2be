"""The cluster's room: processes, collectives, data parallel training, parameter servers.

Each name is loaded when it is first used; `import labkit.distributed` does not load torch.
"""

from importlib import import_module

from labkit.distributed.errors import LaunchError
from labkit.distributed.launch import launch  # not later: a module has the same name

_HOMES = {
    "Message": "messages",
    "send": "messages",
    "receive": "messages",
    "exchange": "messages",
    "recorded": "messages",
    "emulated_link": "network",
    "broadcast": "collectives",
    "reduce": "collectives",
    "all_gather": "collectives",
    "reduce_scatter": "collectives",
    "gather_all_reduce": "collectives",
    "tree_all_reduce": "collectives",
    "ring_all_reduce": "collectives",
    "halving_all_reduce": "collectives",
    "CostModel": "costs.cost_model",
}

__all__ = ["LaunchError", "launch", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"labkit.distributed has no {name!r}; it has {', '.join(_HOMES)}.")
    return getattr(import_module(f"labkit.distributed.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
