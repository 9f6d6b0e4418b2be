"""The order of calls in an overlapped step: what costs time is told without a clock."""

import numpy as np
import pytest

from labkit.checks.items import Refused
from labkit_lessons.distributed.overlap_and_buckets.order_of_calls import Calls

GRADIENTS = np.arange(8.0).reshape(4, 2)
BUCKETS = [[3, 2], [1, 0]]


def calls(buckets=BUCKETS, order=(3, 2, 1, 0)):
    return Calls(GRADIENTS, 10 * GRADIENTS, buckets, order)


def test_a_step_in_order_has_no_fault_and_the_means():
    step = calls()
    ready, handles = {}, []
    for place, gradient in step.backward():
        ready[place] = gradient
        if place in (2, 0):
            handles.append(step.start([ready[place + 1], gradient]))
    means = [handle.wait() for handle in handles]
    assert step.fault is None
    assert np.array_equal(means[0], 5.5 * GRADIENTS[[3, 2]])
    assert np.array_equal(means[1], 5.5 * GRADIENTS[[1, 0]])


def test_the_last_bucket_may_start_behind_the_loop():
    step = calls()
    handles, ready = [], []
    for place, gradient in step.backward():
        if place == 1:
            handles.append(step.start(ready))
            ready = []
        ready.append(gradient)
    assert "full, but backward goes on to gradient 1" in step.fault  # started one gradient late
    handles.append(step.start(ready))
    assert step.begun and len(handles) == 2


def test_gradients_come_in_the_given_order():
    step = calls(order=(2, 3, 0, 1))
    assert [place for place, _ in step.backward()] == [2, 3, 0, 1]


def test_a_later_bucket_that_is_full_earlier_is_no_fault():
    step = calls([[3], [2], [1, 0]], order=(2, 3, 0, 1))
    ready, handles = {}, []
    for place, gradient in step.backward():
        ready[place] = gradient
        if place == 3:
            handles += [step.start([ready[3]]), step.start([ready[2]])]
        if place == 1:
            handles.append(step.start([ready[1], ready[0]]))
    assert step.fault is None and step.lost is None and len(handles) == 3


def test_a_bucket_left_behind_by_one_gradient_for_two():
    step = calls([[3], [2], [1, 0]], order=(2, 3, 0, 1))
    for _, gradient in step.backward():
        if not step.begun and np.array_equal(gradient, GRADIENTS[3]):
            step.start([gradient])
    assert "The bucket [2] is full, but backward goes on to gradient 0" in step.fault
    assert step.lost.startswith("Bucket 1, [2], is never started. When gradient 3 comes")
    assert "the buckets [3] and [2] can leave" in step.lost


def test_in_reverse_order_nothing_more_is_said_of_a_lost_bucket():
    step = calls()
    ready = dict(step.backward())
    step.start([ready[3], ready[2]])
    assert step.lost == "Bucket 1, [1, 0], is never started."


def test_waiting_during_the_backward_is_a_fault():
    step = calls()
    backward = step.backward()
    first = [next(backward)[1], next(backward)[1]]
    step.start(first).wait()
    assert "still has 2 of 4 gradients to compute" in step.fault


def test_the_first_fault_stays():
    step = calls()
    ready = dict(step.backward())
    step.start([ready[3], ready[2]]).wait()
    assert "before `start` is called" in step.fault


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (lambda ready: ready[3], "takes a list of gradients"),
        (lambda ready: [ready[3]], r"Message 0 has the gradients \[3\]"),
        (lambda ready: [ready[2], ready[3]], r"Message 0 has the gradients \[2, 3\]"),
        (lambda ready: [ready[1], ready[0]], r"Message 0 is bucket 1, \[1, 0\], but the other"),
        (lambda ready: [2 * ready[3], ready[2]], "no gradient of `backward`"),
    ],
)
def test_a_message_that_is_no_bucket_is_refused(given, says):
    step = calls()
    ready = dict(step.backward())
    with pytest.raises(Refused, match=says):
        step.start(given(ready))


def test_more_messages_than_buckets_are_refused():
    step = calls()
    ready = dict(step.backward())
    for bucket in BUCKETS:
        step.start([ready[place] for place in bucket])
    with pytest.raises(Refused, match="3 times, for 2 buckets"):
        step.start([ready[0]])
