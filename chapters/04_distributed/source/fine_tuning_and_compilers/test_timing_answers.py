"""timing_answers.py: a pretended machine with a clock of its own."""

import numpy as np
import pytest

from labkit.checks.items import Refused, Unsolved
from labkit_lessons.distributed.fine_tuning_and_compilers.exercises.compare import medians
from labkit_lessons.distributed.fine_tuning_and_compilers.timing_answers import (
    DIFFERENT,
    UNLIKE,
    Machine,
    judged,
)

X = np.array([1.0, -2.0])
Y = np.array([3.0, 4.0])


def machine(rounds=1):
    return Machine(2.0, 0.5, rounds, X, Y, Y + 1)


def test_a_call_comes_back_before_its_work_is_done():
    fake = machine()
    fake.first(X)
    fake.wait()
    before = fake.clock()
    assert np.array_equal(fake.first(X), Y)
    assert fake.clock() - before == pytest.approx(0.02)
    fake.wait()
    assert fake.clock() - before == pytest.approx(2.02, rel=UNLIKE)
    fake.wait()
    assert fake.clock() - before == pytest.approx(2.02, rel=UNLIKE)


def test_the_first_call_of_each_compiles():
    fake = machine()
    for function, usual in ((fake.first, 2.0), (fake.second, 0.5)):
        before = fake.clock()
        function(X)
        assert fake.clock() - before == pytest.approx(50.01 * usual)
        fake.wait()


@pytest.mark.parametrize("warm_ups", range(4))
@pytest.mark.parametrize("rounds", [1, 5, 9, 13, 21])
@pytest.mark.parametrize("order", ["fs", "sf", "fssf"])
def test_in_turn_the_medians_are_the_work_whatever_the_style(warm_ups, rounds, order):
    fake = machine(rounds)
    for _ in range(1 + warm_ups):
        fake.first(X), fake.second(X)
    fake.wait()
    took = {"f": [], "s": []}
    while len(took["s"]) < rounds or len(took["f"]) < rounds:
        for name in order:
            if len(took[name]) == rounds:
                continue
            begin = fake.clock()
            (fake.first if name == "f" else fake.second)(X)
            fake.wait()
            took[name].append(fake.clock() - begin)
    assert np.median(took["f"]) == pytest.approx(2.02, rel=UNLIKE)
    assert np.median(took["s"]) == pytest.approx(0.505, rel=UNLIKE)


@pytest.mark.parametrize("rounds", [9, 13, 21])
def test_one_after_the_other_only_the_second_pays(rounds):
    first, second = judged(lambda *given: medians(*given, in_turn=False))(2.0, 0.5, rounds, X, Y, Y)
    assert first == pytest.approx(2.02, rel=UNLIKE) and second > 2 * 0.505


def test_what_is_no_answer_is_said():
    def says(answer, kind=Refused):
        with pytest.raises(kind) as raised:
            judged(answer)(2.0, 0.5, 3, X, Y, Y)
        return str(raised.value)

    assert "is a function" in says(3)
    assert "two numbers" in says(lambda *given: 5)
    assert "two numbers" in says(lambda *given: "fast")
    assert "another input" in says(lambda first, second, x, *rest: first(x + 1))
    assert "neither function" in says(lambda *given: None, Unsolved)


@pytest.mark.parametrize("rounds", [3, 5, 9, 21])
@pytest.mark.parametrize("more", [-1, 1])
def test_a_median_of_other_calls_is_said(rounds, more):
    def answer(first, second, x, rounds, clock, wait):
        return medians(first, second, x, rounds + more, clock, wait)

    with pytest.raises(Refused, match=f"median of {rounds + more} calls"):
        judged(answer)(2.0, 0.5, rounds, X, Y, Y)


@pytest.mark.parametrize("rounds", [1, 3, 5, 9, 21])
@pytest.mark.parametrize("warm_ups", [0, 1, 3])
def test_one_more_round_that_does_not_count_is_right(rounds, warm_ups):
    def answer(first, second, x, rounds, clock, wait):
        for _ in range(warm_ups):
            first(x), second(x)
        wait()
        times = []
        for _ in range(rounds + 1):
            start = clock()
            first(x), wait()
            between = clock()
            second(x), wait()
            times.append((between - start, clock() - between))
        return np.median(times[1:], axis=0)

    given = judged(answer)(2.0, 0.5, rounds, X, Y, Y)
    assert given == pytest.approx(np.array([2.02, 0.505]), rel=UNLIKE)


def test_none_stands_for_different_results():
    def never(first, second, x, *rest):
        first(x)

    assert np.array_equal(judged(never)(2.0, 0.5, 3, X, Y, Y), DIFFERENT)
