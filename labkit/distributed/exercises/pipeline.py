"""The exercises of lesson pipeline: an order of work, a stage in ranks, and how many pieces."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved
from labkit.checks.lesson_files import LIBRARIES, cases_of, exercise
from labkit.distributed.exercises.solutions import pipeline as solutions
from labkit.distributed.pipeline.predictions import predict, seconds_of
from labkit.distributed.pipeline.schedules import most_alive, schedule_of
from labkit.distributed.rank_exercise import rank_exercise, ranks_cases
from labkit.distributed.traffic import Traffic

# --- distributed.order_of_stage

FORWARD_UNITS, BACKWARD_UNITS = 1, 2  # of a piece of work, as in the lesson's example
PIECE = FORWARD_UNITS + BACKWARD_UNITS


def numbered(rng: np.random.Generator, stages: int, count: int) -> tuple[int, np.ndarray]:
    """Stages, and the numbers of so many micro-batches, in no order."""
    return stages, rng.permutation(90)[:count] + 1


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


def worth(orders: list[list[str]], stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
    """The step that these orders take, and what each stage keeps, if it is more than needed."""
    schedule = schedule_of("1F1B", orders)
    step = seconds_of(predict(schedule, FORWARD_UNITS, BACKWARD_UNITS))
    kept = [most_alive(order) for order in schedule.orders]
    return round(step), np.maximum(kept, least(stages, batches)[1])


def judged_order(answer: object) -> Callable:
    """A function of the inputs that lets a simulation follow the learner's orders."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(stages: int, batches: np.ndarray) -> tuple[int, np.ndarray]:
        names = batches.tolist()
        orders = []
        for stage in range(stages):
            order = answer(stage, stages, batches)
            if batches.tolist() != names:
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
    if order is None:
        raise Unsolved("the function returns None")
    if not isinstance(order, list) or not all(isinstance(one, str) for one in order):
        raise Refused('The result is a list of texts, such as ["F0", "F1", "B0"].')
    found = []
    for one in order:
        number = one[1:]
        if one[:1] not in ("F", "B") or not (number.isascii() and number.isdigit()):
            raise Refused(f"Stage {stage}: {one!r} is not F or B with a number behind it.")
        if int(number) not in names:
            listed = ", ".join(map(str, names[:6])) + (", ..." if len(names) > 6 else "")
            raise Refused(
                f"Stage {stage} has {one}, but there is no micro-batch {number}: `batches` holds "
                f"the numbers {listed}."
            )
        found.append(f"{one[:1]}{names.index(int(number))}")
    return found


def carried_out(orders: list[list[str]], stages: int, names: list[int]) -> tuple[int, np.ndarray]:
    """What the orders are worth; Refused where they cannot be carried out."""
    wanted = Counter(f"{kind}{place}" for place in range(len(names)) for kind in "FB")
    for stage, order in enumerate(orders):
        done = Counter(order)
        for one in sorted(wanted):
            if done[one] != 1:
                name = f"{one[0]}{names[int(one[1:])]}"
                raise Refused(
                    f"Stage {stage} of {stages} does {name} {done[one]} times: each micro-batch "
                    "goes forward once, and backward once."
                )
    try:
        return worth(orders, stages, np.array(names))
    except ValueError as error:
        first, second = names[0], names[-1]
        raise Refused(
            f"With {stages} stages and {len(names)} micro-batches, this cannot be carried out: "
            f"{error}",
            f"Here F0 and B0 are those of the first micro-batch, number {first}, and so on up to "
            f"that of number {second}.",
        ) from None


def kept_where(args: tuple, output: str, index: tuple[int, ...]) -> list[str]:
    """What the first wrong number says."""
    stages, batches = args
    where = f"With {stages} stages and {len(batches)} micro-batches"
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

# --- distributed.gpipe_stage

Stages = Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]  # of each rank: w, x, target


def layers(
    rng: np.random.Generator, ranks: int, count: int, rows: int, *widths: int
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """w[I,O] of each rank, x[m,n,D] and target[m,n,E]; only two of these count."""
    given = []
    for wide, narrow in pairwise(widths):
        w = rng.normal(size=(wide, narrow))
        x = rng.normal(size=(count, rows, widths[0]))
        target = rng.normal(size=(count, rows, widths[-1]))
        given.append(tuple(one.astype("f4") for one in (w, x, target)))
    return given


def by_hand(
    given: Stages,
    errors: Callable[[np.ndarray, np.ndarray], np.ndarray],
    back: Callable[[np.ndarray, np.ndarray], np.ndarray] = lambda dy, w: dy @ w.T,
) -> list[np.ndarray]:
    """dw of every stage: forward through all, and backward.

    errors   errors(y, target) -> dy of the last stage, all [m,n,E]
    back     back(dy, w) -> dx, the gradient by the input of a stage
    """
    kept = []
    a = given[0][1].astype("f8")
    for w, _, _ in given:
        kept.append(a)
        a = a @ w
    dy = errors(a, given[-1][2])
    found = []
    for (w, _, _), one in zip(reversed(given), reversed(kept), strict=True):
        found.append(np.einsum("mni,mno->io", one, dy))
        dy = back(dy, w)
    return found[::-1]


def mean_error(y: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Of the mean over all rows of |y - target|^2 / 2."""
    return (y - target) / (y.shape[0] * y.shape[1])


def only(part: slice) -> Callable:
    """As if only some micro-batches had a gradient."""

    def error(y: np.ndarray, target: np.ndarray) -> np.ndarray:
        dy = np.zeros_like(y)
        dy[part] = mean_error(y, target)[part]
        return dy

    return error


def scaled(factor: Callable[[int], float]) -> Callable:
    """As if dy were factor(m) times as large."""
    return lambda y, target: factor(len(y)) * mean_error(y, target)


def where_square(back: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Callable:
    """As if dx were back(dy, w), where that has the right width."""
    return lambda dy, w: back(dy, w) if w.shape[0] == w.shape[1] else dy @ w.T


def neighbours_only(traffic: Traffic) -> str | None:
    """What is wrong with the messages of a stage whose gradient is right."""
    x = traffic.inputs[0][1]
    count, ranks = len(x), traffic.ranks
    wanted = {}
    for rank in range(ranks - 1):
        size = traffic.inputs[rank][0].shape[1] * x.shape[1] * 4
        wanted[rank, rank + 1] = wanted[rank + 1, rank] = [size] * count
    sent: dict[tuple[int, int], list[int]] = {}
    for message in traffic.messages:
        sent.setdefault((message.source, message.target), []).append(message.bytes)
    for link in wanted | sent:
        right = wanted.get(link, [])
        if sent.get(link, []) != right:
            source, target = link
            return (
                f"the gradients are right, but rank {source} sends {len(sent.get(link, []))} "
                f"messages of {sum(sent.get(link, [])):,} bytes to rank {target}, where "
                f"{len(right)} of {sum(right):,} are needed: one for each micro-batch."
            )
    begun = [call.name for call in traffic.calls[0] if call.what == "begin"]
    if ranks > 1 and not set(begun[:count]) <= {"send", "isend"}:
        return (
            "the gradients are right, but rank 0 receives a gradient before it has sent all its "
            "outputs: under GPipe all forwards come first, so that the stages work at the same "
            "time."
        )
    return None


gpipe_stage = rank_exercise(
    "distributed.gpipe_stage",
    solution=solutions.gpipe_stage,
    oracle=lambda given: by_hand(given, mean_error),
    cases=ranks_cases(
        {
            "all sizes 1": (1, 1, 1, 1, 1),
            "one stage": (1, 3, 2, 4, 3),
            "all of one width": (2, 4, 2, 3, 3, 3),
            "one micro-batch": (2, 1, 3, 2, 4, 3),
            "prime": (3, 5, 2, 3, 7, 2, 5),
            "four stages": (4, 3, 1, 2, 3, 4, 2, 3),
        },
        layers,
    ),
    wrong={
        "last_only": lambda given: by_hand(given, only(slice(-1, None))),
        "first_only": lambda given: by_hand(given, only(slice(0, 1))),
        "not_divided": lambda given: by_hand(given, scaled(lambda m: m)),
        "divided_twice": lambda given: by_hand(given, scaled(lambda m: 1 / m)),
        "as_it_came": lambda given: by_hand(given, mean_error, where_square(lambda dy, w: dy)),
        "not_transposed": lambda given: by_hand(given, mean_error, where_square(np.matmul)),
        "negative": lambda given: by_hand(given, scaled(lambda m: -1)),
    },
    results=("dw",),
    demand=neighbours_only,
    forbidden=("torch.distributed", "torch.autograd", "labkit.distributed.pipeline"),
)

# --- distributed.best_micro_batches

Batch = tuple[np.ndarray, int, int, float, float, int]


def divided(
    rng: np.random.Generator,
    stages: int,
    sequences: int,
    seconds: float,
    overhead: float,
    room: int,
) -> Batch:
    """All numbers that divide the sequences, and the rest as it is given."""
    choices = [m for m in range(1, sequences + 1) if sequences % m == 0]
    return np.array(choices), stages, sequences, seconds, overhead, room


def best(
    *given: Any,
    kept: Callable[[int, int], int] = min,
    pieces: Callable[[int, int], int] = lambda m, p: m + p - 1,
    has_overhead: bool = True,
    exact: bool = True,
) -> int:
    """The m with the shortest step whose kept(m, p) micro-batches fit; 0 if none fits."""
    choices, stages, sequences, seconds, overhead, room = given
    found = []
    for m in choices.tolist():
        size = sequences // m
        used = kept(m, stages) * size
        step = pieces(m, stages) * (size * seconds + has_overhead * overhead)
        if used < room or (used == room and exact):
            found.append((step, m))
    return min(found)[1] if found else 0


def shortest_that_fits(
    choices: np.ndarray, stages: int, sequences: int, seconds: float, overhead: float, room: int
) -> int:
    """The oracle; nobody else may call it during a check."""
    return best(choices, stages, sequences, seconds, overhead, room)


def numbers(answer: object) -> Callable:
    """A function of the inputs whose result is one whole number."""
    if not callable(answer) or isinstance(answer, type):
        raise Refused(f"The answer is a function; this is of type {type(answer).__name__}.")

    def judged(
        choices: np.ndarray,
        stages: int,
        sequences: int,
        seconds: float,
        overhead: float,
        room: int,
    ) -> int:
        found = answer(choices, stages, sequences, seconds, overhead, room)
        if found is None:
            raise Unsolved("the function returns None")
        if isinstance(found, bool) or not isinstance(found, int | np.integer):
            raise Refused(f"The result is one of `choices`, or 0; this is {found!r}.")
        return int(found)

    return judged


best_micro_batches = exercise(
    "distributed.best_micro_batches",
    oracle=shortest_that_fits,
    cases=cases_of(
        {
            "one sequence": (1, 1, 1.0, 1.0, 1),
            "as in the lesson": (2, 4, 3.0, 2.0, 4),
            "little room": (6, 7, 0.5, 3.0, 2),
            "a large batch": (4, 16, 0.5, 6.0, 16),
            "prime": (3, 7, 2.0, 0.5, 5),
            "room for three": (2, 4, 3.0, 2.0, 3),
            "cheap pieces": (4, 24, 1.0, 0.01, 24),
            "some room": (4, 64, 1.0, 1.5, 17),
            "exactly full": (5, 48, 0.3, 2.5, 20),
            "many stages": (16, 96, 1.0, 4.0, 70),
        },
        divided,
    ),
    wrong={
        "any_room": lambda *given: best(*given, kept=lambda m, p: 0),
        "as_gpipe": lambda *given: best(*given, kept=lambda m, p: m),
        "as_one": lambda *given: best(*given, kept=lambda m, p: 1),
        "always_p": lambda *given: best(*given, kept=lambda m, p: p),
        "largest": lambda *given: best(*given, has_overhead=False),
        "smallest": lambda *given: best(*given, pieces=lambda m, p: m),
        "room_to_spare": lambda *given: best(*given, exact=False),
    },
    adapter=numbers,
    plain=lambda answer, *given: numbers(answer)(*given),
    fallback=solutions.best_micro_batches,
    plain_python=True,
    outputs=("m",),
    forbidden=(*LIBRARIES, "labkit.distributed.pipeline"),
)

EXERCISES = [order_of_stage, gpipe_stage, best_micro_batches]
