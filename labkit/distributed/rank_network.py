"""The network of a launch's ranks: a loopback of their own, which nobody else reaches.

    network = of_ranks()             # None where the system makes none
    Process(..., args=(network,))    # each rank gets it at its start
    network.enter()                  # first of all, there

Gloo listens on the loopback, asks no caller who he is, and ranks unpickle what comes. On a machine
with other users, any of them could call; in a network namespace (closed_network.py) none can.
NCCL's ranks keep the machine's network.
"""

import ctypes
import os
import sys
from dataclasses import dataclass
from functools import cache
from multiprocessing import reduction
from multiprocessing.connection import Connection

from labkit.distributed import closed_network
from labkit.distributed.closed_network import NEW_NETWORK, NEW_USER
from labkit.distributed.errors import LaunchError


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


@cache
def of_ranks() -> RankNetwork | None:
    """That of all ranks which this process launches; None where the system allows none.

    A process makes it and ends; the descriptors keep it for as long as this process lives.
    """
    from labkit.distributed.processes import process_context, without_program

    if sys.platform != "linux":
        return None
    context = process_context()
    here, there = context.Pipe()
    process = context.Process(target=_make, args=(there,))
    with without_program():
        process.start()
    there.close()
    with here:
        network = _opened(process.pid) if here.recv() else None
    process.join()
    process.close()
    return network


def _opened(pid: int) -> RankNetwork:
    names = ("user", "net")
    return RankNetwork(*(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY) for name in names))


def _make(there: Connection) -> None:
    """Enters a new network, says whether it could, and stays until it has been looked at."""
    try:
        closed_network.enter()
        there.send(True)
        there.poll(None)
    except LaunchError:
        there.send(False)


def _inherited(user: reduction.DupFd, network: reduction.DupFd) -> RankNetwork:
    return RankNetwork(user.detach(), network.detach())
