"""One step in real ranks: it is the learner's function that decides what overlaps.

No test here asks how long anything took, only what came before what.
"""

import pytest

from labkit.distributed import LaunchError, launch
from labkit.distributed.gradients.overlap import Work
from labkit_lessons.distributed.overlap_and_buckets.emulated_step import measure_steps, one_step

WORK = Work(layers=3, bytes=400, seconds=0.01, latency=1e-3, bandwidth=1e6)
ALONE = [[2], [1], [0]]


def overlapped(backward, buckets, start):
    handles = []
    for (_, gradient), _ in zip(backward, buckets, strict=True):
        handles.append(start([gradient]))
    return [handle.wait() for handle in handles]


def waiting(backward, buckets, start):
    ready = dict(backward)
    return [start([ready[place] for place in bucket]).wait() for bucket in buckets]


def own(backward, buckets, start):
    return [[gradient] for _, gradient in backward]


def test_messages_begin_when_the_function_starts_them():
    runs = measure_steps(
        {"overlaps": (overlapped, WORK, ALONE), "waits": (waiting, WORK, ALONE)}, 2
    )
    over, waits = runs["overlaps"], runs["waits"]
    for run in (over, waits):
        assert [span.number for span in run.layers] == [2, 1, 0]
        assert [span.number for span in run.travel] == [0, 1, 2]
        assert run.buckets == ALONE
        ends = [span.end for span in run.travel]
        assert ends == sorted(ends)
    for layer, bucket in zip(over.layers, over.travel, strict=True):
        assert bucket.begin >= layer.end
    assert waits.travel[0].begin >= waits.layers[-1].end


def test_a_step_takes_no_less_than_what_is_emulated():
    run = launch(one_step, 2, waiting, WORK, [[2, 1, 0]], 1)[0]
    assert run.layers[-1].end >= 3 * WORK.seconds
    travel = run.travel[0].end - run.travel[0].begin
    assert travel >= 2 * (WORK.latency + 3 * WORK.bytes / 2 / WORK.bandwidth)


def test_means_that_are_no_means_are_refused():
    with pytest.raises(LaunchError, match=r"the mean of layer 2 is not 2\.5"):
        launch(one_step, 2, own, WORK, ALONE, 1)
