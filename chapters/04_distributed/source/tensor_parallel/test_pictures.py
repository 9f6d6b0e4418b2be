"""The picture of a block says what the split does."""

import pytest

from labkit.distributed.gpt.model import GPT, Config
from labkit.distributed.tensor_parallel.split import split_state
from labkit_lessons.distributed.tensor_parallel.pictures import layout_picture


@pytest.mark.parametrize("ranks", [2, 4])
def test_the_picture_says_which_rank_has_which_part(ranks, capsys):
    config = Config(layers=1)
    layout_picture(config, ranks)
    said = capsys.readouterr().out
    part = split_state(GPT(config).state_dict(), config, 0, ranks)
    columns = part["blocks.0.attention.query.weight"].shape[0]
    hidden = part["blocks.0.mlp.contract.weight"].shape[1]
    assert f"{4 // ranks} of 4 heads" in said
    assert f"{columns} neighbouring columns of Q, K and V and {columns} rows of output" in said
    assert f"{hidden} columns of expand and {hidden} rows of contract" in said


@pytest.mark.parametrize("ranks", [1, 5])
def test_other_numbers_of_ranks_are_refused(ranks):
    with pytest.raises(ValueError, match=f"2 to 4 ranks, not {ranks}"):
        layout_picture(Config(), ranks)


def test_heads_that_the_ranks_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="3 ranks cannot share 4 heads"):
        layout_picture(Config(), 3)
