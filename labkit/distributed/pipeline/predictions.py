"""When each stage does what, if messages take no time, or all the same; and the two formulas.

    step = (m + p - 1) (t_F + t_B)          p stages, m micro-batches, seconds of one F and one B
    bubble = (p - 1) / (m + p - 1)          the share of a step in which a stage has nothing to do

Both hold if all stages take equally long, and messages no time. GPipe and 1F1B then have the same
step and the same bubble. What differs is how many activations a stage keeps:
`schedules.most_alive`.
"""

from dataclasses import dataclass
from math import isfinite
from numbers import Integral, Real

from labkit.distributed.pipeline.schedules import FORWARD, Schedule, Work, execution_order, needs


@dataclass(frozen=True)
class Span:
    """A piece of work, and from when to when a stage was at it, in seconds."""

    work: Work
    begin: float
    end: float


Spans = list[list[Span]]  # for each stage its work, in its order


def predict(
    schedule: Schedule, forward: float = 1.0, backward: float = 1.0, message: float = 0.0
) -> Spans:
    """Each piece of work begins when its stage is free and its input is there.

    forward, backward   t_F and t_B, the same in every stage
    message             what each message takes on its way; nobody computes less meanwhile

    Raises ValueError for a time below 0.
    """
    refuse_times(forward, backward, message)
    ends: dict[tuple[int, Work], float] = {}
    spans: Spans = [[] for _ in range(schedule.stages)]
    free = [0.0] * schedule.stages
    for stage, work in execution_order(schedule.orders):
        needed = needs(stage, work, schedule.stages)
        ready = 0.0
        if needed is not None:
            is_message = needed[0] != stage
            ready = ends[needed] + message * is_message
        begin = max(free[stage], ready)
        end = begin + (forward if work.kind == FORWARD else backward)
        ends[stage, work] = end
        free[stage] = end
        spans[stage].append(Span(work, begin, end))
    return spans


def seconds_of(spans: Spans) -> float:
    """From the first begin to the last end; ValueError without any work."""
    everything = [span for row in spans for span in row]
    if not everything:
        raise ValueError("A step without any work has no length.")
    return max(span.end for span in everything) - min(span.begin for span in everything)


def idle_share(spans: Spans) -> float:
    """Of all the stages' time, the share in which they do nothing; ValueError for no time."""
    busy = sum(span.end - span.begin for row in spans for span in row)
    available = len(spans) * seconds_of(spans)
    if not available:
        raise ValueError("A step that takes no time has no share of it that is idle.")
    return 1 - busy / available


def step_seconds(stages: int, micro_batches: int, forward: float, backward: float) -> float:
    """(m + p - 1) (t_F + t_B); ValueError for p or m below 1, or a time below 0."""
    _refuse_below_one(stages, micro_batches)
    refuse_times(forward, backward)
    return (micro_batches + stages - 1) * (forward + backward)


def bubble(stages: int, micro_batches: int) -> float:
    """(p - 1) / (m + p - 1); ValueError for p or m below 1."""
    _refuse_below_one(stages, micro_batches)
    return (stages - 1) / (micro_batches + stages - 1)


def refuse_times(*times: float) -> None:
    """Raises ValueError for what is no number of seconds from 0 on."""
    for time in times:
        if not isinstance(time, Real) or not isfinite(time) or time < 0:
            raise ValueError(f"Times are 0 or more, not {time!r}.")


def _refuse_below_one(stages: int, micro_batches: int) -> None:
    for number in (stages, micro_batches):
        if not isinstance(number, Integral) or number < 1:
            raise ValueError(
                "There are 1 stage and 1 micro-batch or more, not "
                f"{stages!r} and {micro_batches!r}."
            )
