"""Static batching: a batch is fixed until its longest request is done, and then comes the next one.

    run = serve_in_batches(requests, Units(), rows=4)

When the server is free, up to `rows` of those that wait become its batch; it does not wait for
more. A request whose last token is there leaves its row to nobody: the row computes on, and what
comes out is read by no one. Its tokens are handed on as they come; systems before Orca (OSDI 2022)
handed back the whole batch at its end.
"""

from collections.abc import Sequence

from labkit_lessons.distributed.serving.caches import Contiguous
from labkit_lessons.distributed.serving.server.requests import Request
from labkit_lessons.distributed.serving.server.runs import Run
from labkit_lessons.distributed.serving.server.state import Progress, Service, give_places
from labkit_lessons.distributed.serving.server.step_times import StepTime


def serve_in_batches(
    requests: Sequence[Request], time: StepTime, rows: int, cache: Contiguous | None = None
) -> Run:
    """All requests, batch after batch; arguments and errors as of `continuous.serve`.

    The cache keeps room for the longest output, as `Contiguous` does: ValueError for another one.
    """
    if cache is not None and not cache.keeps_room:
        raise ValueError(
            "serve_in_batches: a fixed batch cannot lose a request when blocks run out; give it a "
            "Contiguous cache."
        )
    service = Service(requests, time, rows, cache)
    while service.arrived < len(service.all) or service.waiting:
        service.let_arrive()
        if not service.waiting:
            service.sleep()
            continue
        batch = _next_batch(service)
        service.refuse_standstill(batch)
        while not all(one.is_done for one in batch):
            service.let_arrive()
            service.step(batch)
        for one in batch:
            if cache is not None:
                cache.release(one.name)
    return service.run()


def _next_batch(service: Service) -> list[Progress]:
    """The first of those that wait, as many as rows and cache allow."""
    first = service.waiting[: service.rows]
    count = len(first)
    if service.cache is not None:
        count = service.cache.admit([one.waiting() for one in first], service.rows)
    batch = service.waiting[:count]
    del service.waiting[:count]
    give_places(batch, [], service.rows)
    return batch
