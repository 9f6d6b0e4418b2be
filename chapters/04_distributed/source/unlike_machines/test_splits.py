"""Splits and groups of unlike machines, against brute force."""

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.distributed import CostModel
from labkit_lessons.distributed.unlike_machines.splits import (
    Group,
    Machine,
    balanced_seconds,
    balanced_step,
    best_places,
    equal_split,
    groups_of,
    slowest_that_helps,
    split_batch,
)

NAN = float("nan")
LINK = CostModel(2e-3, 10e6)
FAST, SLOW = Machine(1e-3, 4e-3), Machine(4e-3, 4e-3)
BYTES = 15_848

machines = st.builds(Machine, st.integers(1, 40), st.integers(0, 100))  # in ms, say
links = st.builds(CostModel, st.integers(0, 30), st.just(1.0))
groups = st.builds(Group, st.lists(machines, min_size=1, max_size=4), links)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6).filter(any), st.integers(1, 60))
def test_shares_are_rounded_down_or_up_and_the_largest_remainders_win(speeds, batch):
    """Exactly, in fractions: remainders in order, the first of equal ones."""
    counts = split_batch([float(speed) for speed in speeds], batch)
    shares = [Fraction(batch * speed, sum(speeds)) for speed in speeds]
    order = sorted(range(len(speeds)), key=lambda i: (-(shares[i] - math.floor(shares[i])), i))
    left = batch - sum(map(math.floor, shares))
    extra = [0] * len(speeds)
    for place in order[:left]:
        extra[place] = 1
    assert sum(counts) == batch
    expected = [math.floor(share) + more for share, more in zip(shares, extra, strict=True)]
    close = [abs(count - share) < 1 for count, share in zip(counts, shares, strict=True)]
    assert all(close)
    if len({share - math.floor(share) for share in shares}) == len(shares):  # no ties to round
        assert counts == expected


def test_the_split_of_the_lesson():
    assert split_batch([1, 1, 1, 0.25], 64) == [20, 20, 19, 5]
    assert split_batch([5, 3, 2], 7) == [4, 2, 1]
    assert split_batch([1, 0, 1], 3) == [2, 0, 1]
    assert equal_split([9, 1, 1], 64) == [22, 21, 21]


@pytest.mark.parametrize("speeds", [[0, 0], [1, -1], [NAN, 1], [math.inf, 1], "ab", []])
def test_speeds_that_cannot_be(speeds):
    with pytest.raises(ValueError, match="speeds are at least 0, and one is above 0"):
        split_batch(speeds, 8)


def test_a_machine_that_changes():
    machine = Machine(2.0, fixed=5.0, change_step=3, change=3.0)
    assert machine.seconds(10, 2) == 25
    assert machine.seconds(10, 3) == 65
    assert machine.seconds(0, 3) == 0


@pytest.mark.parametrize("batch", [-1, 2.5, NAN, "8", 10**30])
def test_a_batch_that_cannot_be(batch):
    with pytest.raises(ValueError, match="a whole number from 0 to"):
        split_batch([1, 2], batch)


@pytest.mark.parametrize(
    "wrong",
    [{"per_photo": 0}, {"fixed": -1}, {"change": 0}, {"fixed": math.inf}, {"per_photo": "1"}],
)
def test_a_machine_that_cannot_be(wrong):
    with pytest.raises(ValueError, match="Machine: per_photo and change are above 0"):
        Machine(**{"per_photo": 1.0, **wrong})


def test_a_group_that_cannot_be():
    with pytest.raises(ValueError, match="no machine"):
        Group([])
    with pytest.raises(ValueError, match="jitter is a share"):
        Group([FAST], jitter=1)
    with pytest.raises(ValueError, match="jitter is a share"):
        Group([FAST], jitter="much")
    with pytest.raises(ValueError, match="2 machines need as many counts, not 1"):
        Group([FAST, SLOW]).step_seconds([1], BYTES)
    with pytest.raises(ValueError, match="there are machines 0 to 1"):
        Group([FAST, SLOW]).only([2])
    with pytest.raises(ValueError, match="1 machine or more"):
        balanced_seconds([], 8)


def test_jitter_is_drawn_from_the_seed_and_stays_within_its_share():
    group = Group([FAST, SLOW], jitter=0.3, seed=1)
    drawn = [group.seconds(0, 10, step) / FAST.seconds(10) for step in range(50)]
    assert drawn == [group.seconds(0, 10, step) / FAST.seconds(10) for step in range(50)]
    assert 0.7 < min(drawn) < 0.8 < 1.2 < max(drawn) < 1.3
    other = Group([FAST, SLOW], jitter=0.3, seed=2)
    assert other.seconds(0, 10) != group.seconds(0, 10) != group.seconds(1, 10) / 4


def test_a_step_is_the_slowest_machine_and_the_ring():
    group = Group([FAST, FAST, FAST, SLOW], LINK)
    ring = 6 * (2e-3 + BYTES / 4 / 10e6)
    assert group.step_seconds([16] * 4, BYTES) == pytest.approx(4e-3 + 64e-3 + ring)
    assert group.step_seconds([20, 20, 19, 5], BYTES) == pytest.approx(24e-3 + ring)


@given(st.lists(machines, min_size=1, max_size=3), st.integers(1, 12))
def test_no_split_is_faster_than_the_balanced_one(machines, batch):
    """All splits into whole photographs; where no share is below 0, the bound can be reached."""
    bound = balanced_seconds(machines, batch)
    splits = [c for c in product(range(batch + 1), repeat=len(machines)) if sum(c) == batch]
    best = min(
        max(m.seconds(n) for m, n in zip(machines, counts, strict=True)) for counts in splits
    )
    if all(bound >= machine.fixed for machine in machines):
        assert best >= bound - 1e-9
        assert best <= bound + max(machine.per_photo for machine in machines) + 1e-9
    sizes = [
        balanced_seconds([machines[i] for i in one], batch) for one in groups_of(len(machines))
    ]
    assert best >= min(sizes) - 1e-9


@given(groups, st.integers(1, 200))
@settings(max_examples=50)
def test_the_best_group_is_the_best_of_all(group, batch):
    best = best_places(group, batch, 0)
    times = {}
    for size in range(1, len(group) + 1):
        for bits in product([0, 1], repeat=len(group)):
            if sum(bits) == size:
                places = tuple(place for place, bit in enumerate(bits) if bit)
                times[places] = _water(group, places, batch) + 2 * (size - 1) * group.link.latency
    assert balanced_step(group.only(best), batch, 0) == pytest.approx(min(times.values()))


def _water(group, places, batch):
    """Poured in: the time at which the chosen machines have done the batch, by bisection."""
    chosen = [group.machines[place] for place in places]
    low, high = 0.0, max(m.fixed for m in chosen) + batch * max(m.per_photo for m in chosen)
    for _ in range(60):
        middle = (low + high) / 2
        done = sum(max(middle - m.fixed, 0) / m.per_photo for m in chosen)
        low, high = (middle, high) if done < batch else (low, middle)
    return high


def test_who_takes_part_depends_on_the_batch():
    group = Group([FAST, FAST, FAST, SLOW], LINK)
    assert best_places(group, 64, BYTES) == (0, 1, 2)
    assert best_places(group, 256, BYTES) == (0, 1, 2, 3)


@pytest.mark.parametrize("batch", [64, 256])
def test_the_slowest_that_helps_is_on_the_border(batch):
    three = Group([FAST] * 3, LINK)
    speed = slowest_that_helps(three, SLOW.fixed, batch, BYTES)
    without = balanced_step(three, batch, BYTES)
    for factor, helps in ((1.01, True), (0.99, False)):
        newcomer = Machine(1 / (factor * speed), SLOW.fixed)
        larger = Group([FAST] * 3 + [newcomer], LINK)
        assert (balanced_step(larger, batch, BYTES) < without) == helps


def test_sometimes_no_newcomer_helps():
    assert slowest_that_helps(Group([FAST], LINK), 1.0, 64, BYTES) == math.inf
