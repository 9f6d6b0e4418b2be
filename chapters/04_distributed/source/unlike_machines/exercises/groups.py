"""Exercise best_group of lesson unlike_machines: its inputs, oracle, wrong ideas and its judge.

A group is a row of zeros and ones, 1 for each machine that takes part. Ideas are functions
step(groups, a, f, messages, batch) that give the seconds of a step of each group [groups]:

    groups     [groups, machines], all of them
    a, f       seconds for a photograph, and fixed ones [machines]
    messages   seconds of an all-reduce among 1 to N machines [N]

Dense: each wrong idea is another formula of the seconds of a step.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit_lessons.distributed.unlike_machines.splits import groups_of

Step = Callable[..., np.ndarray]
GAP = 1.02  # how many times as long the second best group takes, at least


# The oracle.


@cache
def all_groups(machines: int) -> np.ndarray:
    """[groups, machines]; small groups first."""
    return np.array([marked(group, machines) for group in groups_of(machines)])


def marked(places: Sequence[int], machines: int) -> np.ndarray:
    """1 at the places, and 0 elsewhere."""
    found = np.zeros(machines, dtype=int)
    found[list(places)] = 1
    return found


def sizes(groups: np.ndarray) -> np.ndarray:
    """How many machines each group has."""
    return groups.sum(axis=1)


def around(groups: np.ndarray, messages: np.ndarray) -> np.ndarray:
    """Seconds of each group's all-reduce."""
    return messages[sizes(groups) - 1]


def balanced(groups: np.ndarray, a: np.ndarray, f: np.ndarray, batch: int) -> np.ndarray:
    """Seconds until all machines of each group are done at the same moment."""
    return (batch + groups @ (f / a)) / (groups @ (1 / a))


def right_step(
    groups: np.ndarray, a: np.ndarray, f: np.ndarray, messages: np.ndarray, batch: int
) -> np.ndarray:
    """All are done at the same moment, and then there is the all-reduce."""
    return balanced(groups, a, f, batch) + around(groups, messages)


def taking_part(step: Step) -> Callable[..., np.ndarray]:
    """An oracle, or a wrong idea, from what it takes for a step."""

    def best(
        per_photo: np.ndarray, fixed: np.ndarray, messages: np.ndarray, batch: int
    ) -> np.ndarray:
        groups = all_groups(len(per_photo))
        return groups[step(groups, per_photo, fixed, messages, batch).argmin()]

    return best


# Wrong ideas: of the seconds for which a group computes, and of its all-reduce.


def computing(seconds: Callable[..., np.ndarray]) -> Step:
    """The right all-reduce behind other seconds(groups, a, f, batch)."""
    return lambda groups, a, f, messages, batch: (
        seconds(groups, a, f, batch) + around(groups, messages)
    )


def sending(seconds: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Step:
    """Other seconds(groups, messages) of the all-reduce."""
    return lambda groups, a, f, messages, batch: (
        balanced(groups, a, f, batch) + seconds(groups, messages)
    )


def shared(groups: np.ndarray, a: np.ndarray, batch: int) -> np.ndarray:
    """Seconds until a group has done the batch, without anything fixed."""
    return batch / (groups @ (1 / a))


def equally(groups: np.ndarray, a: np.ndarray, f: np.ndarray, batch: int) -> np.ndarray:
    """Seconds of each machine in each group, with equal shares; 0 outside of the group."""
    return groups * (f + a * batch / sizes(groups)[:, None])


def among(chosen: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Step:
    """As if there were only those groups that chosen(groups, a) marks."""
    return lambda groups, a, f, messages, batch: np.where(
        chosen(groups, a), right_step(groups, a, f, messages, batch), np.inf
    )


def beginnings(groups: np.ndarray) -> np.ndarray:
    """Whether a group has the first machines, and no other."""
    return (np.diff(groups, axis=1) <= 0).all(axis=1)


def last_places(groups: np.ndarray) -> np.ndarray:
    """The place of each group's last machine."""
    return groups.shape[1] - 1 - groups[:, ::-1].argmax(axis=1)


# Those without a case of their own, and then those with one in `unlike_machines`.
COMMON_STEPS: dict[str, Step] = {
    "first": lambda groups, a, f, messages, batch: np.arange(len(groups)),
    "everyone": lambda groups, a, f, messages, batch: -sizes(groups),
    "no_messages": sending(lambda groups, messages: np.zeros(len(groups))),
    "first_ones": among(lambda groups, a: beginnings(groups)),
    "fastest_ones": among(lambda groups, a: beginnings(groups[:, a.argsort()])),
    "two_at_most": among(lambda groups, a: sizes(groups) <= 2),
    "messages_twice": sending(lambda groups, messages: 2 * around(groups, messages)),
    "fixed_multiplied": computing(
        lambda groups, a, f, batch: (batch + groups @ (f * a)) / (groups @ (1 / a))
    ),
    "fixed_each_time": computing(lambda groups, a, f, batch: batch / (groups @ (1 / (a + f)))),
}
WRONG_STEPS: dict[str, Step] = {
    "no_fixed": computing(lambda groups, a, f, batch: shared(groups, a, batch)),
    "largest_fixed": computing(
        lambda groups, a, f, batch: (groups * f).max(axis=1) + shared(groups, a, batch)
    ),
    "smallest_fixed": computing(
        lambda groups, a, f, batch: (
            np.where(groups, f, np.inf).min(axis=1) + shared(groups, a, batch)
        )
    ),
    "mean_fixed": computing(
        lambda groups, a, f, batch: groups @ f / sizes(groups) + shared(groups, a, batch)
    ),
    "sum_fixed": computing(lambda groups, a, f, batch: groups @ f + shared(groups, a, batch)),
    "equal_shares": computing(lambda groups, a, f, batch: equally(groups, a, f, batch).max(axis=1)),
    "mean_machine": computing(
        lambda groups, a, f, batch: equally(groups, a, f, batch).sum(axis=1) / sizes(groups)
    ),
    "not_shared": computing(lambda groups, a, f, batch: (groups * (f + a * batch)).max(axis=1)),
    "per_machine": computing(
        lambda groups, a, f, batch: balanced(groups, a, f, batch) / sizes(groups)
    ),
    "by_the_slowest": computing(
        lambda groups, a, f, batch: (
            (batch + groups @ (f / a)) * (groups * a).max(axis=1) / sizes(groups)
        )
    ),
    "minus_fixed": computing(
        lambda groups, a, f, batch: (batch - groups @ (f / a)) / (groups @ (1 / a))
    ),
    "no_brackets": computing(
        lambda groups, a, f, batch: batch + groups @ (f / a) / (groups @ (1 / a))
    ),
    "sum_of_seconds": computing(
        lambda groups, a, f, batch: (batch + groups @ (f / a)) / (groups @ a)
    ),
    "sums_divided": computing(
        lambda groups, a, f, batch: (batch + (groups @ f) / (groups @ a)) / (groups @ (1 / a))
    ),
    "whole_photos": computing(
        lambda groups, a, f, batch: np.ceil(batch + groups @ (f / a)) / (groups @ (1 / a))
    ),
    "all_fixed": computing(
        lambda groups, a, f, batch: (batch + (f / a).sum()) / (groups @ (1 / a))
    ),
    "by_the_last_place": sending(lambda groups, messages: messages[last_places(groups)]),
    "by_all_places": sending(lambda groups, messages: groups @ messages),
    "up_to_the_size": sending(lambda groups, messages: messages.cumsum()[sizes(groups) - 1]),
    "one_too_far": sending(
        lambda groups, messages: messages[np.minimum(sizes(groups), len(messages) - 1)]
    ),
    "one_too_near": sending(lambda groups, messages: messages[sizes(groups) - 2]),
    "times_machines": sending(lambda groups, messages: sizes(groups) * around(groups, messages)),
    "longest": lambda groups, *given: -right_step(groups, *given),
    "whole_ms": lambda groups, a, f, messages, batch: np.round(
        right_step(groups, a, f, messages, batch), 3
    ),
}


def step_by_step(groups: np.ndarray, *given: Any) -> np.ndarray:
    """Seconds of the groups that are met if the best next machine joins while that helps."""
    seconds = right_step(groups, *given)
    met = np.full(len(groups), np.inf)
    chosen = np.zeros(groups.shape[1], dtype=int)
    shortest = np.inf
    while True:
        joined = (sizes(groups) == chosen.sum() + 1) & (groups >= chosen).all(axis=1)
        candidates = np.where(joined, seconds, np.inf)
        best = candidates.argmin()
        if candidates[best] >= shortest:
            return met
        chosen, shortest = groups[best], candidates[best]
        met[best] = shortest


WRONG_STEPS["one_by_one"] = step_by_step


# The inputs.


def machines_of(
    rng: np.random.Generator, machines: int, size: int, fooled: str = "", scale: float = 1.0
) -> tuple:
    """Seconds of machines and of messages, so that the best group has this size, and clearly.

    fooled   one of `WRONG_STEPS`, which gives another group here; "x/y": also than y gives
    scale    of all seconds
    """
    groups = all_groups(machines)
    while True:
        args = _drawn(rng, machines, scale)
        best, *others = np.argsort(seconds := right_step(groups, *args))
        clear = not others or seconds[others[0]] > GAP * seconds[best]
        first_alone = machines > 2 and best == 0
        if sizes(groups)[best] != size or first_alone or not clear:
            continue
        ideas = COMMON_STEPS | WRONG_STEPS
        chosen = [ideas[name](groups, *args).argmin() for name in fooled.split("/") if name]
        if all(one not in (best, *chosen[1:]) for one in chosen[:1]):
            return args


def _drawn(rng: np.random.Generator, machines: int, scale: float) -> tuple:
    per_photo = rng.uniform(1e-3, 8e-3, machines)
    fixed = rng.uniform(1e-3, 40e-3, machines)
    latency, share = rng.uniform(0.2e-3, 6e-3, 2)
    ranks = np.arange(1, machines + 1)
    messages = 2 * (ranks - 1) * (latency + share / ranks)
    batch = int(rng.integers(8, 200))
    return scale * per_photo, scale * fixed, scale * messages, batch


# The judge.


def examined(result: Any, machines: int) -> np.ndarray:
    """The row of the group that a learner's function gave; Refused where these are no places."""
    if result is None:
        raise Unsolved("the function returns None")
    try:
        places = [int(place) for place in result]
    except (TypeError, ValueError):
        raise Refused("The result is a group: the places of its machines, as in (0, 2).") from None
    if not places or len(set(places)) < len(places):
        raise Refused(f"The group is {tuple(places)}: it names machines, and each of them once.")
    if not all(0 <= place < machines for place in places):
        raise Refused(f"The group is {tuple(places)}, and there are machines 0 to {machines - 1}.")
    return marked(places, machines)


def judged_group(answer: object) -> Callable:
    """A function of the inputs that puts the learner's group into a form to compare."""
    refuse_no_function(answer)

    def judged(per_photo: np.ndarray, *others: Any) -> np.ndarray:
        machines = len(per_photo)
        try:
            found = answer(per_photo, *others)
        except IndexError as error:
            if f"index {machines} is out of bounds" in str(error):
                raise Refused(
                    f"The function raises IndexError: {error}.",
                    "Likely cause: `messages[0]` is for a group of 1, so a group of k machines has "
                    "`messages[k - 1]`.",
                ) from None
            raise
        return examined(found, machines)

    return judged


def meaning(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number says."""
    per_photo, fixed, messages, batch = args
    rows = zip(1e3 * per_photo, 1e3 * fixed, strict=True)
    shown = "; ".join(f"{each:.2g} ms each, {once:.2g} ms fixed" for each, once in rows)
    travel = ", ".join(f"{1e3 * one:.2g}" for one in messages)
    return [
        f"`takes_part[{index[0]}]` is 1 if machine {index[0]} is in the group. The machines need "
        f"{shown}. An all-reduce among 1, 2, ... of them takes {travel} ms; the batch is {batch}."
    ]
