"""Ranks as threads of one process, for tests that need no real ones: messages lie in queues."""

import queue
import threading
from collections.abc import Callable

from labkit.distributed import network

ENOUGH = 300.0  # seconds: only ends a hang


class Threads:
    """A transport between threads; `own.rank` says which rank a thread is."""

    def __init__(self, ranks):
        self.own = threading.local()
        self.ranks = ranks
        pairs = [(a, b) for a in range(ranks) for b in range(ranks)]
        self.boxes = {pair: queue.Queue() for pair in pairs}

    def place(self):
        return self.own.rank, self.ranks

    def send(self, tensor, to):
        self.boxes[self.own.rank, to].put(tensor.clone())

    def receive(self, tensor, source):
        tensor.copy_(self.boxes[source, self.own.rank].get(timeout=ENOUGH))

    def exchange(self, outgoing, to, incoming, source):
        self.send(outgoing, to)
        self.receive(incoming, source)


class Each:
    """Hands every call to the thread's own transport."""

    def __init__(self, own):
        self.own = own

    def __getattr__(self, name):
        return getattr(self.own.transport, name)


def in_threads(ranks: int, function: Callable, transport_of: Callable = lambda one: one) -> list:
    """What `function(rank)` returns in each rank; `transport_of(threads)` carries its messages."""
    threads = Threads(ranks)
    found = {}

    def one(rank):
        threads.own.rank = rank
        threads.own.transport = transport_of(threads)
        found[rank] = function(rank)

    with network.use(Each(threads.own)):
        workers = [threading.Thread(target=one, args=(rank,)) for rank in range(ranks)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return [found[rank] for rank in range(ranks)]
