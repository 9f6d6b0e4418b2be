"""Schedules against their definitions, and the times predicted of them against the formulas."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.distributed.pipeline import predictions
from labkit.distributed.pipeline.schedules import (
    forward_only,
    gpipe,
    most_alive,
    needs,
    one_f_one_b,
    schedule_of,
)
from labkit_lessons.distributed.pipeline.training import joined

NUMBERS = st.integers(1, 9)
SECONDS = st.sampled_from([0.5, 1.0, 2.0, 3.25])
BOTH = pytest.mark.parametrize("make", [gpipe, one_f_one_b])


def text(schedule):
    return [" ".join(map(str, order)) for order in schedule.orders]


def test_the_two_schedules_of_two_stages_and_two_micro_batches():
    assert text(gpipe(2, 2)) == ["F0 F1 B0 B1", "F0 F1 B0 B1"]
    assert text(one_f_one_b(2, 2)) == ["F0 F1 B0 B1", "F0 B0 F1 B1"]


def test_1f1b_of_four_stages():
    assert text(one_f_one_b(4, 5)) == [
        "F0 F1 F2 F3 B0 F4 B1 B2 B3 B4",
        "F0 F1 F2 B0 F3 B1 F4 B2 B3 B4",
        "F0 F1 B0 F2 B1 F3 B2 F4 B3 B4",
        "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4",
    ]


@given(NUMBERS, NUMBERS)
def test_activations_kept_are_m_under_gpipe_and_at_most_p_under_1f1b(p, m):
    assert [most_alive(order) for order in gpipe(p, m).orders] == [m] * p
    kept = [most_alive(order) for order in one_f_one_b(p, m).orders]
    assert kept == [min(m, p - stage) for stage in range(p)]


@BOTH
@given(p=NUMBERS, m=NUMBERS, forward=SECONDS, backward=SECONDS)
def test_both_take_the_step_and_the_bubble_of_the_formulas(make, p, m, forward, backward):
    spans = predictions.predict(make(p, m), forward, backward)
    expected = predictions.step_seconds(p, m, forward, backward)
    assert predictions.seconds_of(spans) == pytest.approx(expected)
    assert predictions.idle_share(spans) == pytest.approx(predictions.bubble(p, m))


@BOTH
@given(p=NUMBERS, m=NUMBERS, forward=SECONDS, backward=SECONDS)
def test_predicted_work_waits_for_its_input_and_its_stage(make, p, m, forward, backward):
    schedule = make(p, m)
    spans = predictions.predict(schedule, forward, backward)
    ends = {(stage, span.work): span.end for stage, row in enumerate(spans) for span in row}
    for stage, row in enumerate(spans):
        assert [span.work for span in row] == list(schedule.orders[stage])
        assert all(one.end <= other.begin for one, other in pairwise(row))
        for span in row:
            needed = needs(stage, span.work, p)
            assert needed is None or ends[needed] <= span.begin
            lasts = forward if span.work.kind == "F" else backward
            assert span.end - span.begin == pytest.approx(lasts)


@given(NUMBERS, NUMBERS)
def test_requests_take_m_plus_p_minus_1_turns(p, m):
    assert predictions.seconds_of(predictions.predict(forward_only(p, m))) == m + p - 1


def planted(orders):
    return schedule_of("planted", [order.split() for order in orders.split(" | ")])


@given(NUMBERS, NUMBERS)
def test_a_schedule_is_its_text(p, m):
    schedule = one_f_one_b(p, m)
    assert schedule_of("1F1B", [list(map(str, order)) for order in schedule.orders]) == schedule


@pytest.mark.parametrize(
    ("orders", "sentence"),
    [
        ("F0 B0 F1 | F0 B0 F1 B1", "Stage 0 does B1 0 times; it has to do it once."),
        ("F0 F0 B0 | F0 B0", "Stage 0 does F0 2 times"),
        ("F0 B0 | B0 F0", "Stage 1: B0 stands before F0."),
        ("F0 B0 X0 | F0 B0", "F or B and a number, such as F0, not 'X0'"),
        ("F0 B0 F2 B2 | F0 B0 F2 B2", "Stage 0 does B1 0 times"),
        ("F0 F1 B1 B0 | F0 F1 B1 B0", "Stage 0: its Bs are not in the order 0, 1, 2"),
        ("F0 B0 F1 B1 | F0 F1 B0 B1", "stage 0 waits with B0 for B0 of stage 1, "
         "stage 1 waits with F1 for F1 of stage 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_carried_out_is_refused(orders, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        planted(orders)


@pytest.mark.parametrize(("p", "m"), [(2, 0), (0, 2), (2, -1), (2, 1.5)])
@pytest.mark.parametrize("make", [gpipe, one_f_one_b, forward_only])
def test_numbers_below_one_are_refused(make, p, m):
    with pytest.raises(ValueError, match="is 1 or more"):
        make(p, m)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: gpipe(True, 2), "the number of stages is 1 or more, not True"),
        (lambda: schedule_of("mine", []), "The schedule mine is empty"),
        (lambda: schedule_of("mine", [[]]), "The schedule mine is empty"),
        (lambda: schedule_of("mine", [[1]]), "F or B and a number, such as F0, not 1"),
        (lambda: predictions.predict(gpipe(2, 2), -1.0, 2.0), "Times are 0 or more"),
        (lambda: predictions.predict(gpipe(2, 2), message=-1.0), "Times are 0 or more"),
        (lambda: predictions.predict(gpipe(2, 2), float("nan")), "0 or more, not nan"),
        (lambda: predictions.predict(gpipe(2, 2), "1"), "0 or more, not '1'"),
        (lambda: predictions.step_seconds(2, 2, -1, 1), "0 or more, not -1"),
        (lambda: predictions.bubble(2.5, 2), "not 2.5 and 2"),
        (lambda: predictions.bubble("2", 2), "not '2' and 2"),
        (lambda: predictions.seconds_of([]), "without any work has no length"),
        (lambda: predictions.idle_share(predictions.predict(gpipe(2, 2), 0, 0)), "takes no time"),
        (lambda: predictions.step_seconds(0, 0, 1, 1), "not 0 and 0"),
        (lambda: predictions.bubble(0, 1), "1 stage and 1 micro-batch or more, not 0 and 1"),
        (lambda: predictions.bubble(1, 0), "1 stage and 1 micro-batch or more, not 1 and 0"),
        (lambda: joined([]), "There is no stage"),
    ],
)
def test_bad_inputs_are_refused_with_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@given(p=NUMBERS, m=NUMBERS, message=st.integers(0, 7))
def test_each_message_on_the_way_takes_its_time(p, m, message):
    """GPipe waits for p - 1 messages on the way out, and for p - 1 on the way back."""
    spans = predictions.predict(gpipe(p, m), 10, 20, message)
    expected = predictions.step_seconds(p, m, 10, 20) + 2 * (p - 1) * message
    assert predictions.seconds_of(spans) == expected
    slower = predictions.predict(one_f_one_b(p, m), 10, 20, message)
    assert predictions.seconds_of(slower) >= expected
