"""When each stage does what, if nothing takes time but the work itself; and the two formulas.

    step = (m + p - 1) (t_F + t_B)          p stages, m micro-batches, seconds of one F and one B
    bubble = (p - 1) / (m + p - 1)          the share of a step in which a stage has nothing to do

GPipe and 1F1B have the same step and the same bubble. What differs is how many activations a stage
keeps: `schedules.most_alive`.
"""

from dataclasses import dataclass

from labkit.distributed.pipeline.schedules import FORWARD, Schedule, Work, in_turn, needs


@dataclass(frozen=True)
class Span:
    """A piece of work, and from when to when a stage was at it, in seconds."""

    work: Work
    begin: float
    end: float


Spans = list[list[Span]]  # for each stage its work, in its order


def predict(schedule: Schedule, forward: float = 1.0, backward: float = 1.0) -> Spans:
    """Each piece of work begins when its stage is free and its input is there.

    forward, backward   t_F and t_B, the same in every stage
    """
    ends: dict[tuple[int, Work], float] = {}
    spans: Spans = [[] for _ in range(schedule.stages)]
    free = [0.0] * schedule.stages
    for stage, work in in_turn(schedule.orders):
        needed = needs(stage, work, schedule.stages)
        ready = ends[needed] if needed is not None else 0.0
        begin = max(free[stage], ready)
        end = begin + (forward if work.kind == FORWARD else backward)
        ends[stage, work] = end
        free[stage] = end
        spans[stage].append(Span(work, begin, end))
    return spans


def seconds_of(spans: Spans) -> float:
    """From the first begin to the last end."""
    everything = [span for row in spans for span in row]
    return max(span.end for span in everything) - min(span.begin for span in everything)


def idle_share(spans: Spans) -> float:
    """Of all the stages' time, the share in which they do nothing."""
    busy = sum(span.end - span.begin for row in spans for span in row)
    return 1 - busy / (len(spans) * seconds_of(spans))


def request_seconds(spans: Spans) -> float:
    """From a request's begin in the first stage to its end in the last one, on average."""
    pairs = list(zip(spans[0], spans[-1], strict=True))
    return sum(last.end - first.begin for first, last in pairs) / len(pairs)


def step_seconds(stages: int, micro_batches: int, forward: float, backward: float) -> float:
    """(m + p - 1) (t_F + t_B)."""
    return (micro_batches + stages - 1) * (forward + backward)


def bubble(stages: int, micro_batches: int) -> float:
    """(p - 1) / (m + p - 1)."""
    return (stages - 1) / (micro_batches + stages - 1)
