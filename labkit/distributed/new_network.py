"""Makes the network of a launch's ranks (rank_network.py), once for all launches of a process."""

import os
import sys
from functools import cache
from multiprocessing.connection import Connection

from labkit.distributed import closed_network
from labkit.distributed.errors import NoClosedNetwork
from labkit.distributed.processes import process_context, without_program
from labkit.distributed.rank_network import RankNetwork


@cache
def of_ranks() -> RankNetwork | None:
    """That of all ranks which this process launches; None where the system allows none.

    A process makes it and ends; the descriptors keep it for as long as this process lives.
    """
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
    except NoClosedNetwork:
        there.send(False)
