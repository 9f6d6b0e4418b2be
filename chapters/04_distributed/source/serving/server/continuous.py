"""Continuous batching: before every step requests join that fit, and after it the done ones leave.

    run = serve(requests, Units(), rows=4)                           # without limits of memory
    run = serve(requests, time, rows=64, cache=Paged(blocks=2000))

Yu and others (Orca, OSDI 2022) call it iteration-level scheduling. First come, first served: nobody
overtakes. In a paged cache blocks can run out while requests grow. Then the one that came last is
preempted: its blocks are freed, it waits again, and when it is back, one prefill computes the keys
and values of its prompt and of the tokens that it has had (Kwon and others 2023, section 4.5:
recomputation).
"""

from collections.abc import Callable, Sequence

from labkit_lessons.distributed.serving.server.requests import Request
from labkit_lessons.distributed.serving.server.runs import Run
from labkit_lessons.distributed.serving.server.state import Cache, Progress, Service, give_places
from labkit_lessons.distributed.serving.server.step_times import StepTime


def serve(
    requests: Sequence[Request],
    time: StepTime,
    rows: int,
    cache: Cache | None = None,
    watch: Callable[[Sequence[Progress]], None] | None = None,
) -> Run:
    """All requests, to the last token of the last one.

    requests   in order of arrival
    rows       the most requests in a step
    cache      an empty one, as it is again after a run; None: there is always room
    watch      is called after every step with those that were in it, before anybody leaves

    Raises ValueError for no request, no rows, a request that the whole cache cannot hold, and where
    some wait and none may ever join.
    """
    service = Service(requests, time, rows, cache)
    running: list[Progress] = []  # in order of arrival
    while service.arrived < len(service.all) or service.waiting or running:
        service.let_arrive()
        if not running and not service.waiting:
            service.sleep()
            continue
        preempted = _make_room(service, running)
        if not preempted:
            _admit(service, running)
        service.refuse_standstill(running)
        service.step(running)
        if watch is not None:
            watch(running)
        running = _without_done(service, running)
    return service.run()


def _make_room(service: Service, running: list[Progress]) -> bool:
    """A slot in the cache for the next token of each, the oldest first; True if some had to go."""
    preempted = False
    place = 0
    while place < len(running) and service.cache is not None:
        one = running[place]
        if service.cache.grow(one.name, one.cached + one.new):
            place += 1
            continue
        preempted = True
        _preempt(service, running.pop())
    return preempted


def _preempt(service: Service, last: Progress) -> None:
    """It waits again, before those that came later."""
    service.cache.release(last.name)
    last.cached = 0
    last.place = -1
    last.preemptions += 1
    service.waiting.insert(0, last)


def _admit(service: Service, running: list[Progress]) -> None:
    """Those that wait join, in order of arrival, until rows or the cache run short."""
    free = service.rows - len(running)
    first = service.waiting[: free + 1]  # one more than could join: the limit is the rows'
    count = min(free, len(first))
    if service.cache is not None:
        count = service.cache.admit([one.waiting() for one in first], free)
    joining = service.waiting[:count]
    del service.waiting[:count]
    give_places(joining, running, service.rows)
    running += joining


def _without_done(service: Service, running: list[Progress]) -> list[Progress]:
    """Those that go on; the others leave the cache."""
    for one in running:
        if one.is_done and service.cache is not None:
            service.cache.release(one.name)
    return [one for one in running if not one.is_done]
