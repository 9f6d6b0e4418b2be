"""Exercise distributed.sharded_servers: a step through two servers, each with half of w."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from labkit.distributed.judging.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.judging.traffic import Traffic
from labkit_lessons.distributed.parameter_servers import solutions
from labkit_lessons.distributed.parameter_servers.exercises.shared import READY_MADE

SERVERS = 2  # ranks 0 and 1
Step = Sequence[tuple[np.ndarray, np.ndarray | None, float]]  # each rank's w, gradient and rate


def one_step(rng: np.random.Generator, ranks: int, size: int) -> Step:
    """w [size], the same in all ranks, a gradient [size] for each worker, and a learning rate."""
    w = rng.normal(size=size).astype(np.float32)
    rate = float(rng.uniform(0.1, 0.9))
    gradients = [rng.normal(size=size).astype(np.float32) for _ in range(ranks - SERVERS)]
    return [(w, gradient, rate) for gradient in [None] * SERVERS + gradients]


def after_the_step(
    inputs: Step,
    divisor: Callable[[int], float] = lambda workers: workers,
    chosen: Callable[[list[np.ndarray]], list[np.ndarray]] = lambda gradients: gradients,
    slope: Callable[[float], float] = lambda rate: rate,
    order: Sequence[int] = (0, 1),
) -> list[np.ndarray]:
    """What all ranks return; the arguments may be wrong ideas.

    divisor  divisor(workers): by what the sum of the gradients is divided
    chosen   which of the workers' gradients are added up
    slope    slope(rate): by what the mean is multiplied, before it is subtracted
    order    in which order a worker joins the servers' parts
    """
    w, _, rate = inputs[0]
    gradients = [gradient for _, gradient, _ in inputs[SERVERS:]]
    step = sum(chosen(gradients)) / np.float32(divisor(len(gradients)))
    parts = np.array_split(w - np.float32(slope(rate)) * step, SERVERS)
    joined = np.concatenate([parts[server] for server in order])
    return [*parts, *[joined] * len(gradients)]


def nothing_comes_back(inputs: Step) -> list[np.ndarray]:
    """As if the workers kept the old weights."""
    parts = after_the_step(inputs)[:SERVERS]
    return [*parts, *[w for w, _, _ in inputs[SERVERS:]]]


def too_soon(inputs: Step) -> list[np.ndarray]:
    """As if each worker got its answer before the later workers' gradients were there."""
    w, _, rate = inputs[0]
    workers = len(inputs) - SERVERS
    found = []
    for _, gradient, _ in inputs[SERVERS:]:
        w = w - np.float32(rate / workers) * gradient
        found.append(w)
    return [*np.array_split(w, SERVERS), *found]


def one_server_steps(inputs: Step, server: int) -> list[np.ndarray]:
    """As if only this server changed its part."""
    parts = np.array_split(inputs[0][0], SERVERS)
    parts[server] = after_the_step(inputs)[server]
    return [*parts, *[np.concatenate(parts)] * (len(inputs) - SERVERS)]


def halves_swapped(inputs: Step) -> list[np.ndarray]:
    """As if server 0 held the second half, and server 1 the first one."""
    first, second, *workers = after_the_step(inputs)
    return [second, first, *workers]


def gradients_crossed(inputs: Step) -> list[np.ndarray]:
    """As if each server got the other one's half of every gradient."""
    w, _, rate = inputs[0]
    gradients = [gradient for _, gradient, _ in inputs[SERVERS:]]
    mean = sum(gradients) / np.float32(len(gradients))
    halves = np.array_split(mean, SERVERS)
    parts = [
        part - np.float32(rate) * np.resize(half, part.shape)
        for part, half in zip(np.array_split(w, SERVERS), reversed(halves), strict=True)
    ]
    return [*parts, *[np.concatenate(parts)] * len(gradients)]


def first_and_last(gradients: list[np.ndarray]) -> list[np.ndarray]:
    """As if nobody stood between the two."""
    return gradients if len(gradients) == 1 else [gradients[0], gradients[-1]]


def as_float16(gradients: list[np.ndarray]) -> list[np.ndarray]:
    """As if they travelled in half of the bytes."""
    return [gradient.astype(np.float16).astype(np.float32) for gradient in gradients]


def shorter_first(inputs: Step) -> list[np.ndarray]:
    """As if server 0 held len(w) // 2 numbers, and server 1 the others."""
    whole = after_the_step(inputs)[-1]
    middle = len(whole) // 2
    return [whole[:middle], whole[middle:], *[whole] * (len(inputs) - SERVERS)]


def own_gradient_alone(inputs: Step) -> list[np.ndarray]:
    """As if each worker took a step of its own."""
    parts = after_the_step(inputs)[:SERVERS]
    return [*parts, *[w - np.float32(rate) * own for w, own, rate in inputs[SERVERS:]]]


def servers_keep(inputs: Step) -> list[np.ndarray]:
    """As if a server returned what it began with."""
    _, _, *workers = after_the_step(inputs)
    return [*np.array_split(inputs[0][0], SERVERS), *workers]


def servers_have_all(inputs: Step) -> list[np.ndarray]:
    """As if a server returned all weights."""
    return [after_the_step(inputs)[-1]] * len(inputs)


def gradient_comes_back(inputs: Step) -> list[np.ndarray]:
    """As if the servers sent on what came last."""
    last = inputs[-1][1]
    return [*after_the_step(inputs)[:SERVERS], *[last] * (len(inputs) - SERVERS)]


WRONG_SERVERS = dict(
    summed=partial(after_the_step, divisor=lambda workers: 1),
    over_all_ranks=partial(after_the_step, divisor=lambda n: n + SERVERS),
    over_the_servers=partial(after_the_step, divisor=lambda workers: SERVERS),
    over_all_but_one=partial(after_the_step, divisor=lambda n: n + SERVERS - 1),
    first_and_last=partial(after_the_step, chosen=first_and_last),
    all_but_the_last=partial(after_the_step, chosen=lambda gradients: gradients[:-1]),
    all_but_the_first=partial(after_the_step, chosen=lambda gradients: gradients[1:]),
    first_worker=partial(
        after_the_step, divisor=lambda workers: 1, chosen=lambda gradients: gradients[:1]
    ),
    last_worker=partial(
        after_the_step, divisor=lambda workers: 1, chosen=lambda gradients: gradients[-1:]
    ),
    uphill=partial(after_the_step, slope=lambda rate: -rate),
    no_rate=partial(after_the_step, slope=lambda rate: 1),
    divided_by_rate=partial(after_the_step, slope=lambda rate: 1 / rate),
    in_float16=partial(after_the_step, chosen=as_float16),
    swapped=partial(after_the_step, order=(1, 0)),
    halves_swapped=halves_swapped,
    shorter_first=shorter_first,
    own_gradient_alone=own_gradient_alone,
    gradients_crossed=gradients_crossed,
    nothing_comes_back=nothing_comes_back,
    gradient_comes_back=gradient_comes_back,
    servers_keep=servers_keep,
    servers_have_all=servers_have_all,
    too_soon=too_soon,
    only_server_0=lambda inputs: one_server_steps(inputs, 0),
    only_server_1=lambda inputs: one_server_steps(inputs, 1),
)


def its_half_alone(traffic: Traffic) -> str | None:
    """What is wrong where right results go other ways, or cost more than each server's half."""
    if traffic.collectives:
        return (
            f"The result is right, but the ranks call {traffic.collectives[0].name}, which needs "
            "all of them at once: here each worker talks to its servers alone."
        )
    halves = [part.nbytes for part in np.array_split(traffic.inputs[0][0], SERVERS)]
    for (source, target), sent in traffic.links.items():
        server = min(source, target)
        if server >= SERVERS or max(source, target) < SERVERS:
            return (
                f"The result is right, but rank {source} sends to rank {target}: messages go "
                "between a worker and a server only."
            )
        if sent > halves[server]:
            return (
                f"The result is right, but rank {source} sends {sent:,} bytes to rank {target}, "
                f"where server {server} has {halves[server]:,} bytes of weights: send its part "
                "once."
            )
    counts = Counter((message.source, message.target) for message in traffic.messages)
    for (source, target), count in counts.items():
        if count > 1:
            return (
                f"The result is right, but rank {source} sends {count} messages to rank {target}: "
                "one has room for the whole part."
            )
    return None


sharded_servers = rank_exercise(
    "distributed.sharded_servers",
    solution=solutions.sharded_servers,
    cases=ranks_cases(
        {
            "two workers": (4, 4),
            "one worker, one weight": (3, 1),
            "one worker": (3, 6),
            "three workers": (5, 7),
            "a weight for each server": (4, 2),
            "many": (4, 101),
        },
        one_step,
        types={"three workers": "float64"},
    ),
    oracle=after_the_step,
    wrong=WRONG_SERVERS,
    demand=its_half_alone,
    forbidden=READY_MADE,
)
