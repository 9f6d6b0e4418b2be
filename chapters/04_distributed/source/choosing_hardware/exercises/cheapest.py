"""Exercise distributed.cheapest: the cheapest machine in time, in a table with empty prices."""

from collections.abc import Callable

import numpy as np

from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise

Offers = tuple[np.ndarray, np.ndarray, np.ndarray, float]
NOBODY = -1
DRAWS = 3000  # of offers, until they part all ideas


def chosen(
    cost: Callable[..., np.ndarray] = lambda counts, seconds, prices: counts * seconds * prices,
    in_time: Callable[..., np.ndarray] = lambda seconds, limit: seconds <= limit,
    empty: float = np.inf,
    choose: Callable[[np.ndarray], int] = np.nanargmin,
    none: int = NOBODY,
) -> Callable[..., int]:
    """The place under one idea or another; an empty price costs `empty`."""

    def place(counts, seconds, prices, limit):
        priced = np.where(np.isnan(prices), 1.0, prices)
        costs = np.where(np.isnan(prices), empty, cost(counts, seconds, priced))
        costs = np.where(in_time(seconds, limit), costs, np.inf)
        if not np.isfinite(costs).any():
            return none
        return int(choose(np.where(np.isfinite(costs), costs, np.nan)))

    return place


def cheapest_of(counts, seconds, prices, limit) -> int:
    """The oracle."""
    return chosen()(counts, seconds, prices, limit)


def among_those_left(counts, seconds, prices, limit) -> int:
    """The place counted among those that are in time and have a price."""
    place = cheapest_of(counts, seconds, prices, limit)
    if place == NOBODY:
        return place
    counted = ~np.isnan(prices) & (seconds <= limit)
    return int(counted[:place].sum())


def first_empty(counts, seconds, prices, limit) -> int:
    """What np.argmin makes of nan where only priced machines are held against the limit."""
    costs = counts * seconds * prices
    costs[(seconds > limit) & ~np.isnan(prices)] = np.inf
    return NOBODY if np.isinf(costs).all() else int(np.argmin(costs))


def sorted_first(counts, seconds, prices, limit) -> int:
    """The first of the sorted costs, whatever it is."""
    costs = np.where(seconds <= limit, counts * seconds * prices, np.inf)
    return int(np.argsort(costs)[0])


def time_of_each(counts, seconds, prices, limit) -> int:
    """As if `seconds` were those of one machine, and all came one after the other."""
    return chosen(in_time=lambda seconds, limit: counts * seconds <= limit)(
        counts, seconds, prices, limit
    )


def in_words(args: tuple, output: str, got: np.ndarray, expected: np.ndarray) -> str:
    """What is wrong with the machine at a wrong place."""
    counts, seconds, prices, limit = args
    right = int(expected)
    said = f"`{output}` is {got}; it should be {right}"
    if got.shape or float(got) not in range(len(counts)):
        return f"{said}."
    place = int(got)
    if np.isnan(prices[place]):
        return f"{said}: machine {place} has no price."
    if seconds[place] > limit:
        late = f"takes {seconds[place]:.3g} s, and the limit is {limit:.3g}"
        return f"{said}: machine {place} {late}."
    costs = counts * seconds * prices / 3600
    return f"{said}: {costs[place]:.3g} USD for a step, and machine {right} {costs[right]:.3g}."


def ordinary_only(counts, seconds, prices, limit) -> int:
    """As if no step cost a million: a search that starts there."""
    place = cheapest_of(counts, seconds, prices, limit)
    costs = counts * seconds * prices
    return place if place >= 0 and costs[place] < 1e6 else NOBODY


def begins_with_0(counts, seconds, prices, limit) -> int:
    """As if machine 0 were the best until another one is below it, whatever its time and price."""
    costs = counts * seconds * prices
    best = 0
    for place in np.flatnonzero(seconds <= limit):
        best = int(place) if costs[place] < costs[best] else best
    return best if seconds[best] <= limit and not np.isnan(prices[best]) else NOBODY


def empty_is_mean(counts, seconds, prices, limit) -> int:
    """As if an empty price were the mean of the others."""
    mean = np.mean(prices[~np.isnan(prices)]) if not np.isnan(prices).all() else np.nan
    return cheapest_of(counts, seconds, np.where(np.isnan(prices), mean, prices), limit)


def last_of_those_left(counts, seconds, prices, limit) -> int:
    """As if every machine that counts were cheaper than the one before."""
    left = np.flatnonzero(~np.isnan(prices) & (seconds <= limit))
    return int(left[-1]) if left.size else NOBODY


def its_cost(hour: float) -> Callable[..., float]:
    """As if the cost were asked for: of prices for `hour` seconds."""

    def cost(counts, seconds, prices, limit):
        place = cheapest_of(counts, seconds, prices, limit)
        return (counts * seconds * prices)[place] / hour if place >= 0 else NOBODY

    return cost


def zero_is_empty(counts, seconds, prices, limit) -> int:
    """As if a price of 0 were none."""
    return cheapest_of(counts, seconds, np.where(prices == 0, np.nan, prices), limit)


def from_one(counts, seconds, prices, limit) -> int:
    """The place counted from 1."""
    place = cheapest_of(counts, seconds, prices, limit)
    return place + (place >= 0)


WRONG = {
    **by_own_name(ordinary_only, from_one, begins_with_0, last_of_those_left),
    "its_cost": its_cost(1),
    "its_cost_by_the_hour": its_cost(3600),
    "zero_is_empty": zero_is_empty,
    "in_cents": chosen(
        cost=lambda counts, seconds, prices: np.round(counts * seconds * prices / 3600, 2)
    ),
    "in_tenths_of_cents": chosen(
        cost=lambda counts, seconds, prices: np.round(counts * seconds * prices / 3600, 3)
    ),
    "divided_by_seconds": chosen(cost=lambda counts, seconds, prices: counts * prices / seconds),
    "counts_squared": chosen(cost=lambda counts, seconds, prices: counts**2 * seconds * prices),
    "empty_is_free": chosen(empty=0.0),
    "empty_is_mean": empty_is_mean,
    "first_empty": first_empty,
    "by_the_hour": chosen(cost=lambda counts, seconds, prices: prices),
    "of_one_machine": chosen(cost=lambda counts, seconds, prices: seconds * prices),
    "counts_alone": chosen(cost=lambda counts, seconds, prices: counts * prices),
    "any_time": chosen(in_time=lambda seconds, limit: seconds < np.inf),
    "not_exactly": chosen(in_time=lambda seconds, limit: seconds < limit),
    "time_of_all": chosen(cost=lambda counts, seconds, prices: seconds * prices / counts),
    "fastest": chosen(cost=lambda counts, seconds, prices: seconds),
    "dearest": chosen(choose=np.nanargmax),
    "too_slow_only": chosen(in_time=lambda seconds, limit: seconds > limit),
    "first_if_none": chosen(none=0),
    "sorted_first": sorted_first,
    "among_those_left": among_those_left,
    "counts_in_time": time_of_each,
}
ALWAYS = ("by_the_hour", "of_one_machine", "counts_alone", "time_of_all", "fastest", "dearest")
UNLIKE = ("by_the_hour", "counts_alone", "divided_by_seconds")  # no two choose the same of many
MANY = 30


def drawn(
    rng: np.random.Generator, machines: int, empty: int, slow: int, exact: bool, scale: float
) -> Offers:
    """Offers in any order; the slow ones are cheap."""
    counts = 1 + rng.permutation(machines)
    seconds = np.sort(rng.permutation(np.arange(2, 3 + 3 * machines))[:machines] / 10)
    fast = machines - slow
    limit = 100.0
    if slow:
        last = seconds[fast - 1] if fast else seconds[0] / 2
        limit = float(last if exact else (last + seconds[fast]) / 2)
    prices = scale * rng.uniform(0.5, 20.0, machines)
    prices[fast:] /= 50
    prices[rng.permutation(machines)[:empty]] = np.nan
    order = rng.permutation(machines)
    return counts[order], seconds[order], prices[order], limit


def offers(
    rng: np.random.Generator,
    machines: int,
    empty: int,
    slow: int,
    exact: bool = False,
    scale: float = 1.0,
    free: bool = False,
) -> Offers:
    """counts [N], seconds of a step [N], USD/h [N] with nan for `empty` of them; the time limit.

    Where there is a choice of four and more, the wrong ideas that can show choose another one,
    unless one of them is free.

    slow    how many take longer than the limit
    scale   of all prices, in another money
    exact   whether the slowest that is in time takes exactly as long as the limit
    free    whether the dearest hour that is in time costs nothing instead
    """
    ideas = ["not_exactly"] if exact else []
    if machines - empty - slow > 3 and not free:
        ideas += ["empty_is_free"] if empty else []
        ideas += ["any_time"] if slow else []
        ideas += [] if exact else ALWAYS
    for _ in range(DRAWS):
        found = drawn(rng, machines, empty, slow, exact, scale)
        if free:
            _, seconds, prices, limit = found
            prices[np.nanargmax(np.where(seconds <= limit, prices, np.nan))] = 0
        right = cheapest_of(*found)
        parted = all(WRONG[idea](*found) != right for idea in ideas)
        if parted and machines > MANY:
            parted = empty_is_mean(*found) != right
            parted = parted and len({WRONG[idea](*found) for idea in UNLIKE}) == len(UNLIKE)
        if parted:
            return found
    raise AssertionError(f"{DRAWS} draws of {machines} offers did not part all ideas.")


cheapest = exercise(
    "distributed.cheapest",
    oracle=cheapest_of,
    cases=cases_of(
        {
            "one machine": (1, 0, 0),
            "one without a price": (1, 1, 0),
            "two": (2, 0, 0),
            "prime, one empty": (7, 1, 2),
            "equal gaps: none has a price": (4, 4, 1),
            "none is in time": (3, 0, 3),
            "as long as the limit": (5, 0, 4, True),
            "as long as the limit, one empty": (9, 1, 3, True),
            "no limit that binds, small money": (8, 1, 0, False, 1e12),
            "one that costs nothing": (6, 0, 2, False, 1.0, True),
            "equal gaps: many": (40, 12, 15),
            "equal gaps: many in time": (33, 10, 1),
        },
        offers,
    ),
    wrong=WRONG,
    wording=in_words,
    general_causes=False,
    forbidden=(*LIBRARIES, "labkit.distributed.chooser"),
)
