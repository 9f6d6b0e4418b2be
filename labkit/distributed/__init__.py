"""The cluster's room: processes, collectives, data parallel training, parameter servers."""

from labkit.distributed.errors import LaunchError
from labkit.distributed.launch import launch

__all__ = ["LaunchError", "launch"]
