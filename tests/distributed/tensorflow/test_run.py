"""What is read out of a coordinator's report and of a program's output, without any process."""

import pytest

from labkit.distributed.tensorflow.run import TfRun, Tried, telling_line

AS_TENSORFLOW_SAYS = """Graph execution error:

2 root error(s) found.
  (0) UNAVAILABLE:  recvmsg:Connection reset by peer
Additional GRPC error information from remote target /job:ps/replica:0/task:1/device:CPU:0 while
:UNKNOWN:Error received from peer  {grpc_message:"recvmsg:Connection reset by peer"}
Additional GRPC error information from remote target /job:ps/replica:0/task:0/device:CPU:0 while
Additional GRPC error information from remote target /job:worker/replica:0/task:0 while calling
"""


def run(**changes):
    values = {
        "steps": 5,
        "resumed_at": 0,
        "scheduled": 5,
        "times": [1, 1, 1, 1, 1],
        "saved": 0,
        "losses": [2.0] * 5,
        "weights": [0.0],
        "on_servers": [1],
        "seconds": 1.0,
        "message": "",
    }
    return TfRun(**values | changes)


def test_a_run_that_ended_well():
    well = run()
    assert (well.applied, well.twice, well.lost, well.error, well.dead_servers) == (
        5,
        [],
        [],
        "",
        [],
    )


def test_steps_that_were_applied_more_than_once():
    at_least_once = run(times=[1, 2, 1, 3, 1])
    assert at_least_once.applied == 8
    assert at_least_once.twice == [1, 3]


def test_steps_that_went_with_a_server():
    died = run(times=[1, 1, 1, 0, 1], saved=2, weights=None, message=AS_TENSORFLOW_SAYS)
    assert died.error == "UnavailableError"
    assert died.lost == [2, 4]
    assert died.dead_servers == [1]
    assert died.reason == "(0) UNAVAILABLE:  recvmsg:Connection reset by peer"
    unknown = run(times=None, losses=None, message=AS_TENSORFLOW_SAYS)
    assert (unknown.applied, unknown.lost, unknown.twice) == (None, None, [])


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ("", "nothing"),
        ("one\ntwo\n\n", "two"),
        ("OSError: first\nmore\n", "OSError: first"),
        (
            "OSError: first\nkeras.Thing.ValueError: second\nat exit\n",
            "keras.Thing.ValueError: second",
        ),
        ("OSError: first\ntrain_tf_ps: a sentence.\nOSError: last\n", "train_tf_ps: a sentence."),
    ],
)
def test_the_line_that_says_why_a_program_ended(log, line):
    assert telling_line(log) == line


def test_only_a_traceback_is_an_error():
    assert Tried("OSError: only printed\n", None).error == ""
    assert Tried("Traceback (most recent call last):\nOSError: raised\n", None).error.endswith(
        "raised"
    )
