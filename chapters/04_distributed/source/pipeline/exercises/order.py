"""Exercise distributed.order_of_stage: in which order a stage works under 1F1B.

A simulation follows the learner's orders, so that what counts is the step and what is kept, not
how the order was found.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.pipeline.predictions import predict, seconds_of
from labkit.distributed.pipeline.schedules import most_alive, schedule_of
from labkit_lessons.distributed.pipeline import solutions

FORWARD_UNITS, BACKWARD_UNITS = 1, 2  # of a piece of work, as in the lesson's example
PIECE = FORWARD_UNITS + BACKWARD_UNITS


def numbered(
    rng: np.random.Generator, stages: int, count: int, last: int | None = None
) -> tuple[int, np.ndarray]:
    """Stages, and the numbers of so many micro-batches, in no order; the last one may be given."""
    found = rng.permutation(90)[:count] + 1
    if last is not None:
        found[-1] = last
    return stages, found


def least(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
    """The step in units of time, and how many micro-batches each stage keeps, under 1F1B."""
    count = len(batches)
    kept = np.minimum(count, stages - np.arange(stages))
    return (count + stages - 1) * PIECE, kept


def right_step(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
    """The oracle; nobody else may call it during a check."""
    return least(stages, batches)


def with_kept(keeps: Callable[[int, int, int], int]) -> Callable:
    """As if stage s of p kept keeps(s, p, m) micro-batches, and the step were as short."""

    def wrong(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
        step, right = least(stages, batches)
        kept = [min(keeps(s, stages, len(batches)), len(batches)) for s in range(stages)]
        return step, np.maximum(kept, right)

    return wrong


def with_ahead(forwards: Callable[[int, int], int]) -> Callable:
    """As if stage s of p ran forwards(s, p) forwards ahead, whatever that costs."""

    def wrong(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
        count = len(batches)
        orders = []
        for stage in range(stages):
            ahead = min(max(forwards(stage, stages), 0), count)
            order = [f"F{i}" for i in range(ahead)]
            for i in range(count):
                order += [f"F{ahead + i}"] * (ahead + i < count) + [f"B{i}"]
            orders.append(order)
        return worth(orders, stages, batches)

    return wrong


def from_beyond(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
    """As if there were always p - 1 - s micro-batches to begin with; IndexError where not."""
    np.asarray(batches)[: stages - 1][stages - 2]
    return least(stages, batches)


def worth(orders: list[list[str]], stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
    """The step that these orders take, and what each stage keeps, if it is more than needed."""
    schedule = schedule_of("1F1B", orders)
    step = seconds_of(predict(schedule, FORWARD_UNITS, BACKWARD_UNITS))
    kept = [most_alive(order) for order in schedule.orders]
    return round(step), np.maximum(kept, least(stages, batches)[1])


def judged_order(answer: object) -> Callable:
    """A function of the inputs that lets a simulation follow the learner's orders."""
    refuse_no_function(answer)

    def judged(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
        names = batches.tolist()
        orders = []
        for stage in range(stages):
            given = list(names)
            order = answer(stage, stages, given)
            if given != names:
                raise Refused(
                    "The function changes its input `batches`: the caller still needs it."
                )
            orders.append(in_places(stage, order, names))
        if not any(orders):
            raise Unsolved("the order is empty")
        return carried_out(orders, stages, names)

    return judged


def in_places(stage: int, order: Any, names: list[int]) -> list[str]:
    """An order with each micro-batch's place, from 0 on, for its number; Refused for no order."""
    found = []
    for one in texts_in(order):
        number = one[1:]
        if one[:1] not in ("F", "B") or not (number.isascii() and number.isdigit()):
            raise Refused(f"Stage {stage}: {one!r} is not F or B with a number after it.")
        if int(number) not in names:
            listed = ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
            raise Refused(
                f"Stage {stage} has {one}, but there is no micro-batch {number}: `batches` holds "
                f"the numbers {listed}."
            )
        found.append(f"{one[:1]}{names.index(int(number))}")
    return found


def texts_in(order: Any) -> list[str]:
    """The texts of any sequence of texts; Refused for anything else."""
    if order is None:
        raise Unsolved("the function returns None")
    is_sequence = isinstance(order, Iterable) and not isinstance(order, str | bytes | Mapping | Set)
    texts = list(order) if is_sequence else [None]
    if not all(isinstance(one, str) for one in texts):
        raise Refused('The result is a list of texts, such as ["F0", "F1", "B0"].')
    return [str(one) for one in texts]


def carried_out(orders: list[list[str]], stages: int, names: list[int]) -> tuple[int, np.ndarray]:
    """What the orders are worth; Refused where they cannot be carried out."""
    for stage, order in enumerate(orders):
        refuse_other_than_once(stage, stages, order, names)
    try:
        return worth(orders, stages, np.array(names))
    except ValueError as error:
        said = re.sub(r"\b([FB])(\d+)\b", lambda m: f"{m[1]}{names[int(m[2])]}", str(error))
        said = said.replace("the order 0, 1, 2, ...", "the order of `batches`")
        raise Refused(
            f"With {many(stages, 'stage')} and {many(len(names), 'micro-batch')}, this cannot be "
            f"carried out: {said}",
            *likely_cause(orders, said),
        ) from None


def refuse_other_than_once(stage: int, stages: int, order: list[str], names: list[int]) -> None:
    """Raises Refused where a stage leaves something out, or does it again."""
    done = Counter(order)
    for kind in "FB":
        for place, name in enumerate(names):
            times = done[f"{kind}{place}"]
            if times == 1:
                continue
            sentence = (
                f"Stage {stage} of {stages} does {kind}{name} {times} times: each micro-batch "
                "goes forward once, and backward once."
            )
            if len(names) < stages - 1 - stage:
                raise Refused(
                    sentence,
                    f"There are only {many(len(names), 'micro-batch')}: p - 1 - s is more than m.",
                )
            if int(names[place]) == 0 and times == 0:
                raise Refused(
                    sentence,
                    "Likely cause: `if number:` is false for micro-batch 0, too, which counts like "
                    "any other.",
                )
            if times > 1:
                what = (
                    "at the end, the backwards of the last micro-batches are left."
                    if kind == "B"
                    else "where all forwards are done, only backwards are left."
                )
                raise Refused(sentence, f"Likely cause: {what}")
            if kind == "B" and times == 0 and place > 0:
                raise Refused(
                    sentence,
                    "Likely cause: after the last forward, the other backwards still have to come.",
                )
            raise Refused(sentence)


def likely_cause(orders: list[list[str]], fault: str) -> list[str]:
    """A sentence, or none, on why these orders cannot be carried out."""
    backwards = [[one for one in order if one[0] == "B"] for order in orders]
    in_order = all(one == sorted(one, key=lambda b: int(b[1:])) for one in backwards)
    if "stands before F" in fault and in_order:
        return ["Likely cause: in each turn, the forward comes first, and then the backward."]
    if "its Bs are not in the order" in fault or "stands before F" in fault:
        return ["Likely cause: a backward takes the oldest micro-batch, not the newest."]
    ahead = []
    for order in orders:
        kinds = [one[0] for one in order]
        ahead.append(kinds.index("B"))
    if ahead[0] < ahead[-1]:
        return [
            "Likely cause: counted from the wrong end. The first stage runs furthest ahead, and "
            "the last one not at all."
        ]
    return []


def many(count: int, what: str) -> str:
    """ "1 stage", "2 stages"."""
    ending = "es" if what.endswith("ch") else "s"
    return f"{count} {what}" if count == 1 else f"{count} {what}{ending}"


def kept_where(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number says."""
    stages, batches = args
    where = f"With {many(stages, 'stage')} and {many(len(batches), 'micro-batch')}"
    if output == "step":
        return [f"{where}, a step takes so many units of time, with t_F = 1 and t_B = 2."]
    return [f"{where}, stage {index[0]} keeps the activations of so many at once."]


ORDERS = {
    "one micro-batch": (1, 1),
    "one stage": (1, 4),
    "prime": (3, 7),
    "two stages": (2, 2),
    "fewer micro-batches than stages": (5, 3),
    "as many": (4, 4),
    "many": (6, 20),
    "number 0": (3, 5, 0),
}

order_of_stage = exercise(
    "distributed.order_of_stage",
    oracle=right_step,
    cases=cases_of(ORDERS, numbered),
    wrong={
        "all_forwards_first": with_kept(lambda s, p, m: m),
        "one_after_the_other": with_ahead(lambda s, p: 0),
        "one_less_ahead": with_ahead(lambda s, p: p - 2 - s),
        "one_more_ahead": with_kept(lambda s, p, m: p - s + 1),
        "stage_0_alone": with_ahead(lambda s, p: p - 1 if s == 0 else 0),
        "one_ahead": with_ahead(lambda s, p: min(1, p - 1 - s)),
        "two_ahead": with_ahead(lambda s, p: min(2, p - 1 - s)),
        "from_beyond": from_beyond,
        "all_stages_alike": with_ahead(lambda s, p: p - 1),
    },
    adapter=judged_order,
    plain=lambda answer, *inputs: judged_order(answer)(*inputs),
    fallback=solutions.order_of_stage,
    plain_python=True,
    outputs=("step", "kept"),
    groups=(frozenset({0, 1}),),
    dtype="any",
    locate=kept_where,
    forbidden=(*LIBRARIES, "labkit.distributed.pipeline.schedules.one_f_one_b"),
)
