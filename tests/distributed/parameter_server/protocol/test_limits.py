"""How long a training goes."""

import pytest

from labkit.distributed.parameter_server.protocol.limits import Limit


def test_steps_of_all_together():
    limit = Limit(steps=5)
    assert limit.grants([4, 0], elapsed=1e9) and not limit.grants([3, 2], elapsed=0.0)


def test_seconds():
    limit = Limit(seconds=2)
    assert limit.grants([9**9, 0], elapsed=1.9) and not limit.grants([0, 0], elapsed=2.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "give one of the two"),
        ({"steps": 3, "seconds": 1}, "give one of the two"),
        ({"steps": 0}, "steps are a whole number from 1 on, not 0"),
        ({"steps": 1.5}, "steps are a whole number from 1 on, not 1.5"),
        ({"steps": True}, "steps are a whole number from 1 on, not True"),
        ({"seconds": 0}, "seconds are a number above 0, not 0"),
        ({"seconds": float("nan")}, "seconds are a number above 0, not nan"),
    ],
)
def test_what_is_no_limit(given, said):
    with pytest.raises(ValueError, match=said):
        Limit(**given)
