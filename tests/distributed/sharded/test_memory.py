"""The memory table by formula, against the published one."""

import pytest

from labkit.distributed.sharded.memory import FLOAT32, MIXED, bytes_of_state


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_the_published_table_of_7_5_billion_weights_on_64_ranks(stage, gigabytes):
    """Rajbhandari et al. 2020, figure 1."""
    assert bytes_of_state(7_500_000_000, 64, stage, MIXED).total == pytest.approx(
        gigabytes * 1e9, rel=0.005
    )


def test_float32_keeps_16_bytes_too():
    assert sum(FLOAT32.values()) == sum(MIXED.values()) == 16
    assert bytes_of_state(100, 4, 0).total == 1600
    assert bytes_of_state(100, 4, 3).total == 400
    assert vars(bytes_of_state(100, 4, 2)) == {"weights": 400, "gradients": 100, "moments": 200}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((1, 1, 4), "not 4"),
        ((0, 1, 1), "0 weights"),
        ((1, 0, 1), "0 ranks"),
        ((100, 1.5, 1), "1.5 ranks"),
        ((100, 4, 1, {"weights": 2}), "weights, gradients, moments, not for weights"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        bytes_of_state(*arguments)
