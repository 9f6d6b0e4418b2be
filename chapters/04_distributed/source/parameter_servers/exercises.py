"""The exercises of lesson parameter_servers: a step through two servers, the rule, staleness."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import cases_of, exercise
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic
from labkit_lessons.distributed.parameter_servers import solutions

READY_MADE = (
    "labkit.distributed.parameter_server",
    "labkit_lessons.distributed.parameter_servers",
)

# --- distributed.sharded_servers

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


WRONG_SERVERS = SimpleNamespace(
    summed=lambda inputs: after_the_step(inputs, divisor=lambda workers: 1),
    over_all_ranks=lambda inputs: after_the_step(inputs, divisor=lambda n: n + SERVERS),
    over_the_servers=lambda inputs: after_the_step(inputs, divisor=lambda workers: SERVERS),
    over_all_but_one=lambda inputs: after_the_step(inputs, divisor=lambda n: n + SERVERS - 1),
    first_and_last=lambda inputs: after_the_step(inputs, chosen=first_and_last),
    all_but_the_last=lambda inputs: after_the_step(inputs, chosen=lambda gradients: gradients[:-1]),
    all_but_the_first=lambda inputs: after_the_step(inputs, chosen=lambda gradients: gradients[1:]),
    first_worker=lambda inputs: after_the_step(
        inputs, divisor=lambda workers: 1, chosen=lambda gradients: gradients[:1]
    ),
    last_worker=lambda inputs: after_the_step(
        inputs, divisor=lambda workers: 1, chosen=lambda gradients: gradients[-1:]
    ),
    uphill=lambda inputs: after_the_step(inputs, slope=lambda rate: -rate),
    no_rate=lambda inputs: after_the_step(inputs, slope=lambda rate: 1),
    divided_by_rate=lambda inputs: after_the_step(inputs, slope=lambda rate: 1 / rate),
    in_float16=lambda inputs: after_the_step(inputs, chosen=as_float16),
    swapped=lambda inputs: after_the_step(inputs, order=(1, 0)),
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
    wrong=vars(WRONG_SERVERS),
    demand=its_half_alone,
    forbidden=READY_MADE,
)

# --- distributed.may_begin


def progress(
    rng: np.random.Generator, workers: int, bound: int, kind: str = ""
) -> tuple[np.ndarray, int]:
    """finished [workers] and the bound.

    Leads of 0, bound and bound + 1 are there, as far as there are workers; the others are drawn
    from up to twice the bound, with gaps. kind: "equal", some leads come twice; "first", somebody
    is still in the first step.
    """
    border = dict.fromkeys([0, bound, bound + 1])
    others = [lead for lead in rng.permutation(2 * max(workers, bound)) if lead not in border]
    leads = np.array([*border, *others][:workers])
    if kind == "equal":
        leads[workers // 2 :] = leads[: workers - workers // 2]
    slowest = 0 if kind == "first" else int(rng.integers(3, 60))
    return slowest + rng.permutation(leads), bound


def within_the_bound(finished: np.ndarray, bound: int) -> np.ndarray:
    """finished [workers] -> whether each may begin: finished[w] - min(finished) <= bound."""
    return finished - finished.min() <= bound


WRONG_BEGIN = SimpleNamespace(
    strictly=lambda finished, bound: finished - finished.min() < bound,
    at_least=lambda finished, bound: finished - finished.min() >= bound,
    one_more=lambda finished, bound: finished - finished.min() <= bound + 1,
    ignores_others=lambda finished, bound: finished <= bound,
    from_the_fastest=lambda finished, bound: finished.max() - finished <= bound,
    from_the_mean=lambda finished, bound: finished - finished.mean() <= bound,
    from_worker_0=lambda finished, bound: finished - finished[0] <= bound,
    from_the_last_worker=lambda finished, bound: finished - finished[-1] <= bound,
    from_the_median=lambda finished, bound: finished - np.median(finished) <= bound,
    by_rank=lambda finished, bound: finished.argsort().argsort() <= bound,
    by_place_of_the_slowest=lambda finished, bound: finished - finished.argmin() <= bound,
    from_the_second=lambda finished, bound: finished - np.sort(finished)[:2][-1] <= bound,
    from_the_one_before=lambda finished, bound: finished - np.roll(finished, 1) <= bound,
    at_least_1=lambda finished, bound: finished - finished.min() <= max(bound, 1),
    over_the_next=lambda finished, bound: np.array(
        [done - max(finished[finished < done], default=done) <= bound for done in finished]
    ),
    all_or_nobody=lambda finished, bound: np.full(
        len(finished), finished.max() - finished.min() <= bound
    ),
    beginners_left_out=lambda finished, bound: (
        finished - min(finished[finished > 0], default=0) <= bound
    ),
    slowest_alone=lambda finished, bound: finished == finished.min(),
    who_waits=lambda finished, bound: finished - finished.min() > bound,
    everybody=lambda finished, bound: np.full(len(finished), True),
)

may_begin = exercise(
    "distributed.may_begin",
    oracle=within_the_bound,
    cases=cases_of(
        {
            "three workers": (3, 1),
            "one worker": (1, 0),
            "prime": (7, 3),
            "lockstep": (5, 0),
            "nobody is too fast": (4, 9),
            "ragged": (33, 10),
            "many": (100, 41),
            "equal steps": (5, 2, "equal"),
            "no step yet": (6, 2, "first"),
        },
        progress,
    ),
    wrong=vars(WRONG_BEGIN),
    forbidden=READY_MADE,
)

# --- distributed.staleness


def steps_of_workers(
    rng: np.random.Generator, workers: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """pulled [N] and pushed [N] of workers at unlike paces, worker after worker; all different."""
    pulled, pushed = [], []
    for worker in range(workers):
        pace = rng.uniform(5, 15) * (4 if worker == 0 else 1)
        moment = rng.uniform(0, 5)
        for _ in range(max(1, steps // 4) if worker == 0 else steps):
            pulled.append(moment)
            moment += pace * rng.uniform(0.8, 1.2)
            pushed.append(moment)
            moment += rng.uniform(0.1, 2.0)  # it may have to wait
    return np.array(pulled), np.array(pushed)


def pushes_between(pulled: np.ndarray, pushed: np.ndarray) -> np.ndarray:
    """pulled [N], pushed [N] -> for each step how many pushes lie between its two moments."""
    return _count(pushed[None] > pulled[:, None], pushed[None] < pushed[:, None])


def _count(*conditions: np.ndarray) -> np.ndarray:
    """How many of the other steps (columns) meet all conditions, for each step (row)."""
    return np.logical_and.reduce(conditions).sum(axis=1)


def as_if_sorted(pulled: np.ndarray, pushed: np.ndarray) -> np.ndarray:
    """As if the steps stood in the order of their pushes: those before in the array came before."""
    return np.array([np.sum(pushed[:i] > pulled[i]) for i in range(len(pushed))])


WRONG_STALENESS = SimpleNamespace(
    own_push_too=lambda pulled, pushed: pushes_between(pulled, pushed) + 1,
    pulls=lambda pulled, pushed: _count(
        pulled[None] > pulled[:, None], pulled[None] < pushed[:, None]
    ),
    whole_steps=lambda pulled, pushed: _count(
        pulled[None] > pulled[:, None], pushed[None] < pushed[:, None]
    ),
    overlapping=lambda pulled, pushed: (
        _count(pushed[None] > pulled[:, None], pulled[None] < pushed[:, None]) - 1
    ),
    computing_at_the_pull=lambda pulled, pushed: _count(
        pushed[None] > pulled[:, None], pulled[None] < pulled[:, None]
    ),
    computing_at_the_push=lambda pulled, pushed: _count(
        pulled[None] < pushed[:, None], pushed[None] > pushed[:, None]
    ),
    version_at_the_push=lambda pulled, pushed: _count(pushed[None] < pushed[:, None]),
    version_at_the_pull=lambda pulled, pushed: _count(pushed[None] < pulled[:, None]),
    since_the_pull=lambda pulled, pushed: _count(pushed[None] > pulled[:, None]),
    since_the_push=lambda pulled, pushed: _count(pushed[None] > pushed[:, None]),
    as_if_sorted=as_if_sorted,
    in_order_of_pushes=lambda pulled, pushed: pushes_between(pulled, pushed)[np.argsort(pushed)],
    places_by_argsort=lambda pulled, pushed: np.argsort(pushed) - np.argsort(pulled),
    never_sorted=lambda pulled, pushed: (
        np.searchsorted(pushed, pushed) - np.searchsorted(pushed, pulled)
    ),
    one_less=lambda pulled, pushed: pushes_between(pulled, pushed) - 1,
    pulls_too=lambda pulled, pushed: (
        pushes_between(pulled, pushed)
        + _count(pulled[None] > pulled[:, None], pulled[None] < pushed[:, None])
    ),
    in_order_of_pulls=lambda pulled, pushed: pushes_between(pulled, pushed)[np.argsort(pulled)],
    around_it=lambda pulled, pushed: _count(
        pulled[None] < pulled[:, None], pushed[None] > pushed[:, None]
    ),
    either=lambda pulled, pushed: _count(
        (pushed[None] > pulled[:, None]) | (pushed[None] < pushed[:, None])
    ),
    mean=lambda pulled, pushed: np.full(len(pushed), pushes_between(pulled, pushed).mean()),
    time=lambda pulled, pushed: pushed - pulled,
)

staleness = exercise(
    "distributed.staleness",
    oracle=pushes_between,
    cases=cases_of(
        {
            "three workers": (3, 4),
            "one step": (1, 1),
            "one worker": (1, 20),
            "prime": (2, 9),
            "one step each": (6, 1),
            "ragged": (4, 10),
            "many": (5, 40),
            "ninety workers": (90, 4),  # a staleness beyond 8 bits
        },
        steps_of_workers,
    ),
    wrong=vars(WRONG_STALENESS),
    forbidden=READY_MADE,
)

EXERCISES = [sharded_servers, may_begin, staleness]
