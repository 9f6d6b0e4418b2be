"""The network of a launch's ranks: a loopback of their own, which nobody else reaches.

    network = network_of_ranks()     # launch.py; None where the system makes none
    Process(..., args=(network,))    # each rank gets it at its start
    network.enter()                  # first of all, there

Gloo listens on the loopback, asks no caller who he is, and ranks unpickle what comes. On a machine
with other users, any of them could call; in a network namespace (connections/closed_network.py)
none can. NCCL's ranks keep the machine's network.
"""

import ctypes
import os
from dataclasses import dataclass
from multiprocessing import reduction

from labkit.distributed.connections.closed_network import NEW_NETWORK, NEW_USER


@dataclass(frozen=True)
class RankNetwork:
    """Descriptors of a network namespace and of the user namespace that it belongs to."""

    user: int
    network: int

    def __reduce__(self) -> tuple:
        return _inherited, (reduction.DupFd(self.user), reduction.DupFd(self.network))

    def enter(self) -> None:
        """This process, which has one thread yet, and its children are in it from now on."""
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.setns(self.network, NEW_NETWORK) == 0:
            return  # root's may at once
        for namespace, kind in ((self.user, NEW_USER), (self.network, NEW_NETWORK)):
            if libc.setns(namespace, kind) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _inherited(user: reduction.DupFd, network: reduction.DupFd) -> RankNetwork:
    return RankNetwork(user.detach(), network.detach())
