"""Layouts: their products, and what is refused in a sentence."""

import pytest

from labkit.distributed.costs.language_models import language_model
from labkit.distributed.costs.layouts import Layout


def test_ranks_and_batch():
    layout = Layout(data=4, tensor=8, pipeline=2, micro_batches=16, sequences=3)
    assert layout.ranks == 64 and layout.batch == 4 * 16 * 3


@pytest.mark.parametrize("name", ["data", "tensor", "pipeline", "micro_batches", "sequences"])
@pytest.mark.parametrize("value", [0, -1, 1.5, True, "2"])
def test_counts_are_whole_and_above_0(name, value):
    with pytest.raises(ValueError, match=f"{name} is a whole number from 1 on"):
        Layout(**{name: value})


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="stages 0, 1, 2 and 3, not 4"):
        Layout(stage=4)
    with pytest.raises(ValueError, match="here is one stage"):
        Layout(chunks=2)
    with pytest.raises(ValueError, match="overlap is True or False, not 'no'"):
        Layout(overlap="no")
    model = language_model("llama31_8b")  # 32 heads, 32 layers
    with pytest.raises(ValueError, match="32 heads, which 3 tensor ranks cannot share"):
        Layout(tensor=3).demand_fits(model)
    with pytest.raises(ValueError, match="too few for 64 stages"):
        Layout(pipeline=64).demand_fits(model)
    with pytest.raises(ValueError, match="16 stages of 3 chunks"):
        Layout(pipeline=16, chunks=3).demand_fits(model)
    Layout(pipeline=16, chunks=8).demand_fits(language_model("llama31_405b"))  # 126 layers
