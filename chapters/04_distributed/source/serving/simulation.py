"""Serving a language model, as a simulation: requests arrive, wait, share steps, and leave.

    requests = poisson(count=400, rate=4.0, lengths=Lengths(200, 200, limit=2048), seed=0)
    time = Roofline(language_model("llama2_7b"), machine("v100"), "fp16")
    run = serve(requests, time, rows=64, cache=Paged(blocks=2000, size=16))
    run.latencies, run.output_tokens, run.preemptions

Time is virtual: no clock is read, and equal inputs give equal runs on every machine. Each token of
each request is a row of a step, and what is counted is counted there. Lesson serving.
"""

from labkit_lessons.distributed.serving.caches import Contiguous, Paged
from labkit_lessons.distributed.serving.server.continuous import serve
from labkit_lessons.distributed.serving.server.requests import (
    Lengths,
    Request,
    bursts,
    poisson,
    trace,
)
from labkit_lessons.distributed.serving.server.runs import percentile
from labkit_lessons.distributed.serving.server.static import serve_in_batches
from labkit_lessons.distributed.serving.server.step_times import Roofline, Units

__all__ = [
    "Contiguous",
    "Lengths",
    "Paged",
    "Request",
    "Roofline",
    "Units",
    "bursts",
    "percentile",
    "poisson",
    "serve",
    "serve_in_batches",
    "trace",
]
