"""What JAX compiles, counted by its own events; why it did; what a trace of it holds.

JAX announces each program that it hands to XLA by the event EVENT (`jax.monitoring`). The number of
entries in a function's own cache is no such count: a NumPy array and a JAX array of one shape take
two entries there and share a program. Lesson what_costs_an_afternoon.
"""

import logging
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from labkit.hardware import this_machine

EVENT = "/jax/core/compile/backend_compile_duration"
REASON = re.compile(r"\* at (.*)|^ +(now .* and before .*)|(never seen function)", re.MULTILINE)


@cache
def _events() -> list[str]:
    """A list that grows by a name whenever this process compiles a program from now on."""
    import jax

    if not this_machine().has_tpu:
        jax.config.update("jax_platforms", "cpu")  # libtpu alone would look for a TPU
    found: list[str] = []

    def listen(event: str, seconds: float, **more: object) -> None:
        if event == EVENT:
            found.append(str(more.get("fun_name", "")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    return found


def compiled_by(call: Callable[[], object]) -> int:
    """How many programs JAX compiles while `call` runs to its end."""
    import jax

    events = _events()
    before = len(events)
    jax.block_until_ready(call())
    return len(events) - before


def reason(call: Callable[[], object]) -> str:
    """What `jax.explain_cache_misses` says differs from the call before; "" if nothing does."""
    import jax

    _events()
    with _logged() as lines, jax.explain_cache_misses(True):
        jax.block_until_ready(call())
    told = [next(filter(None, found)) for found in REASON.findall("\n".join(lines))]
    return "; ".join(dict.fromkeys(told))


@contextmanager
def _logged() -> Iterator[list[str]]:
    """What JAX logs within the block, and keeps from the screen."""
    lines: list[str] = []
    logger = logging.getLogger("jax")
    handlers = logger.handlers
    catcher = logging.Handler()
    catcher.emit = lambda record: lines.append(record.getMessage())
    propagate = logger.propagate
    logger.handlers = [catcher]
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.handlers = handlers
        logger.propagate = propagate


def fresh_step() -> Callable:
    """A jitted step(x, rate, power) of its own, for which nothing has been compiled yet."""
    import jax

    def step(x, rate, power):
        return (rate * x**power).sum()

    return jax.jit(step, static_argnames="power")


def second_call(first: tuple, second: tuple) -> tuple[int, str]:
    """How many programs a fresh step's second call compiles, and JAX's reason.

    A call is (x, rate, power).
    """
    step = fresh_step()
    compiled_by(lambda: step(*first))
    told = []
    programs = compiled_by(lambda: told.append(reason(lambda: step(*second))))
    return programs, told[0]


def compiled_by_calls(
    lengths: np.ndarray, rates: np.ndarray, whole: np.ndarray, powers: np.ndarray, bucket: int
) -> int:
    """How many programs a fresh step compiles for these calls, each x padded with zeros."""
    step = fresh_step()

    def run() -> None:
        for length, rate, is_whole, power in zip(lengths, rates, whole, powers, strict=True):
            padded = np.zeros(bucket * int(np.ceil(length / bucket)), np.float32)
            padded[:length] = 1
            step(padded, int(rate) if is_whole else float(rate), int(power))

    return compiled_by(run)


def traced(calls: Callable[[], object], step: str) -> list[Counter]:
    """How often each name stands in each step of JAX's own trace of the calls, in their order.

    Steps are the events that a `StepTraceAnnotation` called `step` makes; what begins within one,
    on the same thread, belongs to it.
    """
    import jax

    _events()
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0  # without each line of Python
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            jax.block_until_ready(calls())
        [file] = Path(folder).rglob("*.xplane.pb")
        planes = jax.profiler.ProfileData.from_file(str(file)).planes
        found = {}
        for plane in planes:
            for line in plane.lines:
                found |= _steps_of(list(line.events), step)
    return [found[number] for number in sorted(found)]


def _steps_of(events: list, step: str) -> dict[int, Counter]:
    """For each step of one thread, by its number, the names of the events that begin within it."""
    found = {}
    for outer in events:
        number = dict(outer.stats).get("step_num") if outer.name == step else None
        if number is not None:
            end = outer.start_ns + outer.duration_ns
            inner = [event.name for event in events if outer.start_ns <= event.start_ns < end]
            found[number] = Counter(inner)
    return found
