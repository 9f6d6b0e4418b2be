"""A training that goes on: bitwise with every part, and another way without any one of them."""

import math

import pytest
import torch

from labkit.distributed.checkpoints import dcp
from labkit.distributed.checkpoints.folder import newest
from labkit.distributed.checkpoints.run import digest
from labkit.distributed.checkpoints.training import PARTS, Options, Training, piece
from labkit.distributed.gpt.text import emma
from labkit.distributed.parameter_server.checkpoint import CheckpointError


def trained(training, steps):
    return [training.one_step() for _ in range(steps)]


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A checkpoint after step 12, and what the training did after it."""
    folder = tmp_path_factory.mktemp("saved")
    training = Training(Options())
    trained(training, 12)
    dcp.save(folder, training.step, training.state())
    return folder, trained(training, 6), digest(training)


def test_with_every_part_it_goes_on_to_the_last_bit(broken):
    folder, losses, weights = broken
    resumed = Training(Options())
    resumed.restore(newest(folder))
    assert (resumed.step, resumed.position) == (12, 96)
    assert trained(resumed, 6) == losses and digest(resumed) == weights


@pytest.mark.parametrize("forgotten", PARTS)
def test_without_any_one_part_it_goes_another_way(broken, forgotten):
    folder, _, weights = broken
    resumed = Training(Options(warm_up=15))
    other = Training(Options(warm_up=15))
    for training, parts in ((resumed, set(PARTS) - {forgotten}), (other, PARTS)):
        training.restore(newest(folder), parts)
    assert trained(resumed, 6) != trained(other, 6)
    assert digest(resumed) != digest(other) != weights


def test_a_training_that_was_used_before_is_restored_all_the_same(broken):
    folder, losses, _ = broken
    used = Training(Options(seed=3))
    trained(used, 4)
    used.options = Options()
    used.restore(newest(folder))
    assert trained(used, 6) == losses


def test_without_a_checkpoint_it_begins():
    training = Training(Options())
    training.restore(None)
    assert training.step == 0


def test_the_first_step_is_that_of_plain_pytorch():
    """An oracle without our loop: the same batch, and AdamW as PyTorch has it."""
    options = Options(blanked=0.0, warm_up=1)
    training, model = Training(options), Training(options).model
    pieces = torch.stack([piece(place, 32, 0) for place in range(8)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.learning_rate)
    logits = model(pieces[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), pieces[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    assert training.one_step() == pytest.approx(loss.item(), abs=1e-7)
    for ours, theirs in zip(training.model.parameters(), model.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_every_piece_is_read_once_before_any_is_read_again():
    length = 3000
    count = (len(emma().train) - 1) // length
    first = [tuple(piece(place, length, 0).tolist()) for place in range(count)]
    second = [tuple(piece(place, length, 0).tolist()) for place in range(count, 2 * count)]
    assert len(set(first)) == count and set(first) == set(second) and first != second


def test_a_checkpoint_of_another_model_is_refused(broken):
    folder, *_ = broken
    from labkit.distributed.gpt.model import Config

    for config in (Config(context=32, width=64, heads=2, layers=2), Config(width=32, layers=3)):
        other = Training(Options(config=config))
        with pytest.raises(CheckpointError, match="does not fit this training") as told:
            other.restore(newest(folder))
        assert str(folder) in str(told.value) and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sequences": 0}, "sequences is a whole number"),
        ({"warm_up": 2.5}, "warm_up is a whole number"),
        ({"learning_rate": math.inf}, "learning_rate is above 0"),
        ({"blanked": 1}, "blanked is at least 0"),
    ],
)
def test_nonsense_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        Options(**wrong)


def test_a_batch_that_cannot_be_dealt_and_a_part_that_is_none(broken):
    with pytest.raises(ValueError, match="8 sequences cannot be dealt evenly to 3 ranks"):
        Training(Options(), 0, 3)
    with pytest.raises(ValueError, match="no part 'wheels'"):
        Training(Options()).restore(newest(broken[0]), ["wheels"])
