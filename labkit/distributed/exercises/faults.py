"""The exercises of lesson faults: who is who, each push once, how often to store a checkpoint."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import faults as solutions
from labkit.distributed.tf_config_answers import (
    ROLES,
    Places,
    as_places,
    read_as_places,
)

# --- distributed.tf_config

HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.7")


def processes(
    rng: np.random.Generator, size: int, servers: int, number: int
) -> tuple[list[str], np.ndarray, int, int]:
    """Hosts and ports of so many processes, and which one of them asks; ports in no order."""
    hosts = [HOSTS[place] for place in rng.integers(len(HOSTS), size=size)]
    ports = 2000 + rng.permutation(9000)[:size]
    return hosts, ports, servers, number


def everybody(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """The coordinator first, then the servers, then the workers; the task is this process."""
    cluster = dealt(len(ports), 1, servers)
    return as_places(cluster, number)


def dealt(size: int, chiefs: int, servers: int) -> dict[str, list[int]]:
    """Places 0 to size - 1, of each role, in this order."""
    places = list(range(size))
    parts = places[:chiefs], places[chiefs : chiefs + servers], places[chiefs + servers :]
    return dict(zip(ROLES, parts, strict=True))


def named(role: str, index: int, cluster: dict[str, list[int]]) -> int:
    """The place of a task, such as worker 2; -1 where there is none."""
    members = cluster[role]
    return members[index] if 0 <= index < len(members) else -1


def with_index(index: Callable[[int, int], int]) -> Callable[..., Places]:
    """As if a task's index were index(number, index)."""

    def wrong(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
        cluster = dealt(len(ports), 1, servers)
        for role, members in cluster.items():
            if number in members:
                task = named(role, index(number, members.index(number)), cluster)
        return as_places(cluster, task)

    return wrong


def workers_first(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if the workers' addresses came before those of the servers."""
    workers = len(ports) - 1 - servers
    cluster = dealt(len(ports), 1, workers)
    cluster["ps"], cluster["worker"] = cluster["worker"], cluster["ps"]
    return as_places(cluster, number)


def trains_too(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if the coordinator were a worker as well."""
    cluster = dealt(len(ports), 1, servers)
    cluster["worker"] = cluster["chief"] + cluster["worker"]
    return as_places(cluster, number)


def last_server_too(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if the workers began one place too early."""
    cluster = dealt(len(ports), 1, servers)
    cluster["worker"] = list(range(servers, len(ports)))
    return as_places(cluster, number)


def alone(hosts: list[str], ports: np.ndarray, servers: int, number: int) -> Places:
    """As if each process knew itself only."""
    cluster = dealt(len(ports), 1, servers)
    own = {
        role: [place for place in members if place == number] for role, members in cluster.items()
    }
    return as_places(own, number)


WRONG_CONFIG = SimpleNamespace(
    counted_through=with_index(lambda number, index: number),
    from_one=with_index(lambda number, index: index + 1),
    first_of_role=with_index(lambda number, index: 0),
    all_the_coordinator=lambda hosts, ports, servers, number: everybody(hosts, ports, servers, 0),
    no_coordinator=lambda hosts, ports, servers, number: as_places(
        dealt(len(ports), 0, servers), number
    ),
    workers_first=workers_first,
    trains_too=trains_too,
    last_server_too=last_server_too,
    alone=alone,
)

tf_config = exercise(
    "distributed.tf_config",
    oracle=everybody,
    cases=cases_of(
        {
            "a worker": (6, 2, 4),
            "a coordinator alone": (1, 0, 0),
            "a server": (5, 2, 2),
            "one server": (3, 1, 1),
            "the coordinator": (7, 3, 0),
            "the last worker": (11, 4, 10),
            "the first worker": (13, 5, 6),
            "many": (40, 8, 8),
        },
        processes,
    ),
    wrong=vars(WRONG_CONFIG),
    forbidden=LIBRARIES,
    outputs=("chief", "ps", "worker", "task"),
    groups=(frozenset({0, 1, 2}),),  # the cluster; the task stands alone
    adapter=lambda answer: read_as_places(answer),
    plain=lambda answer, *given: read_as_places(answer)(*given),
    fallback=solutions.tf_config,
    plain_python=True,
    dtype="any",
)

# --- distributed.apply_once

Push = tuple[int, int, np.ndarray]  # worker, step, gradient [D]


def pushes(
    rng: np.random.Generator, size: int, workers: int, steps: int, again: int
) -> tuple[np.ndarray, list[Push], float]:
    """w [size], what arrives, and the rate; `again` pushes come a second or third time.

    Each worker's steps begin somewhere and rise. Where a push comes again, half of the time its
    gradient is another one, taken at later weights. Two workers may have equal gradients.
    """
    waiting = {int(worker): [] for worker in rng.permutation(2 * workers)[:workers]}
    for place, worker in enumerate(waiting):
        begin = 0 if place == 0 else int(rng.integers(9))
        for step in range(begin, begin + steps):
            waiting[worker].append((worker, step, rng.normal(size=size)))
    _share_a_gradient(waiting)
    arrived: list[Push] = []
    while any(waiting.values()):
        worker = rng.choice([worker for worker, left in waiting.items() if left])
        arrived.append(waiting[int(worker)].pop(0))
    for _ in range(again):
        _comes_again(rng, arrived)
    return rng.normal(size=size), arrived, float(rng.uniform(0.05, 0.9))


def _share_a_gradient(waiting: dict[int, list[Push]]) -> None:
    """The last push of the second worker gets the gradient of the first one's."""
    if len(waiting) > 1:
        first, second, *_ = waiting.values()
        worker, step, _ = second[-1]
        second[-1] = worker, step, first[-1][2].copy()


def _comes_again(rng: np.random.Generator, arrived: list[Push]) -> None:
    """One of the pushes arrives again, at some later place."""
    place = int(rng.integers(len(arrived)))
    worker, step, gradient = arrived[place]
    if rng.random() < 0.5:
        gradient = rng.normal(size=gradient.size)
    later = int(rng.integers(place + 1, len(arrived) + 1))
    arrived.insert(later, (worker, step, gradient.copy()))


Applied = tuple[np.ndarray, int, int]


def applied(
    w: np.ndarray,
    arrived: Sequence[Push],
    rate: float,
    key: Callable[[Push], object] = lambda push: push[:2],
) -> Applied:
    """The weights, how many pushes were applied, and how many were repeated.

    key   of two pushes with the same one, the second is a repeated one
    """
    seen: set = set()
    for push in arrived:
        if key(push) not in seen:
            seen.add(key(push))
            w = w - rate * push[2]
    return w, len(seen), len(arrived) - len(seen)


def the_last_counts(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a later copy replaced an earlier one."""
    kept = {(worker, step): gradient for worker, step, gradient in arrived}
    return w - rate * sum(kept.values()), len(kept), len(arrived) - len(kept)


def only_neighbours(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a copy could come only right behind its first."""
    done = 0
    before = None
    for push in arrived:
        if push[:2] != before:
            w = w - rate * push[2]
            done += 1
        before = push[:2]
    return w, done, len(arrived) - done


def newest_of_all(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if no worker might be behind another."""
    newest, done = -1, 0
    for _, step, gradient in arrived:
        if step > newest:
            w = w - rate * gradient
            newest, done = step, done + 1
    return w, done, len(arrived) - done


def without_step_0(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if every worker's step 0 were applied already."""
    last: dict[int, int] = {}
    done = 0
    for worker, step, gradient in arrived:
        if step > last.get(worker, 0):
            w = w - rate * gradient
            last[worker], done = step, done + 1
    return w, done, len(arrived) - done


def twice_but_counted(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a repeated push were noted, and applied all the same."""
    _, done, repeated = applied(w, arrived, rate)
    return w - rate * sum(gradient for *_, gradient in arrived), done, repeated


def arrivals_counted(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if `applied` were all that has arrived."""
    right, done, repeated = applied(w, arrived, rate)
    return right, done + repeated, repeated


def kinds_counted(w: np.ndarray, arrived: Sequence[Push], rate: float) -> Applied:
    """As if a push that comes three times were repeated once."""
    right, done, _ = applied(w, arrived, rate)
    names = [push[:2] for push in arrived]
    return right, done, sum(names.count(name) > 1 for name in set(names))


WRONG_ONCE = SimpleNamespace(
    untouched=lambda w, arrived, rate: (w, 0, 0),
    always=lambda w, arrived, rate: (
        w - rate * sum(gradient for *_, gradient in arrived),
        len(arrived),
        0,
    ),
    twice_but_counted=twice_but_counted,
    by_step=lambda w, arrived, rate: applied(w, arrived, rate, key=lambda push: push[1]),
    by_worker=lambda w, arrived, rate: applied(w, arrived, rate, key=lambda push: push[0]),
    by_gradient=lambda w, arrived, rate: applied(
        w, arrived, rate, key=lambda push: push[2].tobytes()
    ),
    the_last_counts=the_last_counts,
    only_neighbours=only_neighbours,
    newest_of_all=newest_of_all,
    without_step_0=without_step_0,
    arrivals_counted=arrivals_counted,
    kinds_counted=kinds_counted,
    uphill=lambda w, arrived, rate: applied(w, arrived, -rate),
    not_by_rate=lambda w, arrived, rate: applied(w, arrived, 1.0),
)

apply_once = exercise(
    "distributed.apply_once",
    oracle=applied,
    cases=cases_of(
        {
            "some come again": (3, 3, 4, 5),
            "one push": (1, 1, 1, 0),
            "the same one three times": (2, 1, 1, 2),
            "nothing twice": (4, 2, 3, 0),
            "one worker": (5, 1, 6, 3),
            "prime": (7, 3, 5, 7),
            "many": (33, 5, 20, 40),
        },
        pushes,
    ),
    wrong=vars(WRONG_ONCE),
    forbidden=LIBRARIES,
    outputs=("w", "applied", "repeated"),
    groups=(frozenset({0, 1, 2}),),
    rtol=1e-9,
    atol=1e-9,
    dtype="any",
)

# --- distributed.cost_of_faults


def faults(
    rng: np.random.Generator, size: int, every: int, write: int
) -> tuple[np.ndarray, int, int]:
    """Moments of faults [size], rising; none of them where a checkpoint ends."""
    cycle = every + write
    between = cycle * rng.integers(0, 5, size=size) + rng.integers(1, cycle, size=size)
    between[:1] += cycle  # the first one comes after a checkpoint
    return between.cumsum(), every, write


def parts(moments: np.ndarray) -> np.ndarray:
    """From each beginning to the fault that ends it, in seconds."""
    return np.diff(moments, prepend=0)


def lost_and_spent(
    moments: np.ndarray,
    every: int,
    write: int,
    cut: Callable[[np.ndarray], np.ndarray] = parts,
) -> tuple[int, int]:
    """Seconds since the last whole checkpoint, and seconds in whole ones, over all faults.

    cut   the lengths of the parts between faults
    """
    finished, left = np.divmod(cut(moments), every + write)
    return int(left.sum()), int(write * finished.sum())


def from_the_beginning(moments: np.ndarray, every: int, write: int) -> tuple[int, int]:
    """As if the checkpoints went on in one row from 0, whatever happens."""
    cycle = every + write
    return int((moments % cycle).sum()), int(moments[-1] // cycle * write)


def writing_is_free(moments: np.ndarray, every: int, write: int) -> tuple[int, int]:
    """As if no time passed while a checkpoint is written."""
    finished, left = np.divmod(parts(moments), every)
    return int(left.sum()), int(write * finished.sum())


def only_work(moments: np.ndarray, every: int, write: int) -> tuple[int, int]:
    """As if an unfinished checkpoint cost nothing."""
    finished, left = np.divmod(parts(moments), every + write)
    return int(np.minimum(left, every).sum()), int(write * finished.sum())


def kept_unfinished(moments: np.ndarray, every: int, write: int) -> tuple[int, int]:
    """As if a checkpoint were good as soon as its writing begins."""
    lost = spent = 0
    for length in parts(moments):
        finished, left = divmod(int(length), every + write)
        begun = left > every
        spent += (finished + begun) * write
        lost += 0 if begun else left
    return lost, spent


def whole(of: Callable[..., float]) -> Callable[..., tuple[float, int]]:
    """The right seconds in checkpoints, and of(lengths of the parts, every) as those lost."""

    def wrong(moments: np.ndarray, every: int, write: int) -> tuple[float, int]:
        _, spent = lost_and_spent(moments, every, write)
        return of(parts(moments), every), spent

    return wrong


WRONG_COST = SimpleNamespace(
    from_the_beginning=from_the_beginning,
    writing_is_free=writing_is_free,
    only_work=only_work,
    kept_unfinished=kept_unfinished,
    everything=whole(lambda lengths, every: lengths.sum()),
    half_of_every=whole(lambda lengths, every: len(lengths) * every / 2),
    last_fault_only=lambda moments, every, write: lost_and_spent(
        moments, every, write, lambda all: parts(all)[-1:]
    ),
    moments_as_lengths=lambda moments, every, write: lost_and_spent(
        moments, every, write, lambda all: all
    ),
    one_for_each_fault=lambda moments, every, write: (
        lost_and_spent(moments, every, write)[0],
        write * len(moments),
    ),
    one_at_the_beginning=lambda moments, every, write: (
        lost_and_spent(moments, every, write)[0],
        lost_and_spent(moments, every, write)[1] + write * len(moments),
    ),
    checkpoints_counted=lambda moments, every, write: (
        lost_and_spent(moments, every, write)[0],
        lost_and_spent(moments, every, write)[1] // write,
    ),
)

cost_of_faults = exercise(
    "distributed.cost_of_faults",
    oracle=lost_and_spent,
    cases=cases_of(
        {
            "three faults": (3, 10, 2),
            "one fault": (1, 60, 7),
            "short checkpoints": (5, 100, 3),
            "long checkpoints": (7, 9, 31),
            "prime": (11, 17, 5),
            "many": (97, 600, 45),
        },
        faults,
    ),
    wrong=vars(WRONG_COST),
    forbidden=LIBRARIES,
    outputs=("lost", "spent"),
    groups=(frozenset({0, 1}),),
    dtype="any",
)

EXERCISES = [tf_config, apply_once, cost_of_faults]
