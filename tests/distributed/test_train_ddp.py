"""train_ddp.py: each epoch an order of its own, and buckets that travel during the backward."""

import runpy
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from torch.utils.data import DistributedSampler

from labkit import convnet
from labkit.distributed import launch, recorded

PROGRAM = Path(__file__).resolve().parents[2] / "chapters" / "04_distributed" / "train_ddp.py"
ENOUGH = 300.0
BYTES = 4 * 545_098  # of all gradients


@pytest.fixture(scope="module")
def program():
    return runpy.run_path(str(PROGRAM))


@pytest.fixture(scope="module")
def shards(program):
    return program["shards"]


def of_epoch(rank, epoch):
    """By PyTorch: 20 images for two ranks."""
    sampler = DistributedSampler(range(20), num_replicas=2, rank=rank, drop_last=True)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_each_epoch_has_an_order_of_its_own(shards):
    for rank in range(2):
        steps = list(islice(shards(20, rank, 2, each=5), 4))  # two epochs of two steps
        assert steps[0] + steps[1] == of_epoch(rank, 0)
        assert steps[2] + steps[3] == of_epoch(rank, 1)
        assert steps[2] != steps[0]  # an order that begins again would be the same


def test_the_ranks_share_no_image_of_an_epoch(shards):
    read = [
        place for rank in range(2) for step in islice(shards(20, rank, 2, 5), 2) for place in step
    ]
    assert sorted(read) == list(range(20))


def test_what_fills_no_batch_is_left_out(shards):
    steps = list(islice(shards(20, 0, 2, each=4), 3))  # ten images of this rank: two steps
    assert steps[0] + steps[1] == of_epoch(0, 0)[:8]
    assert steps[2] == of_epoch(0, 1)[:4]


def test_a_batch_larger_than_all_images_is_refused(shards):
    with pytest.raises(ValueError, match="A batch of 22 images is too large: there are 20"):
        next(shards(20, 0, 2, each=11))


def buckets_of(rank, ranks, parallel, bucket_bytes):
    model = parallel(convnet.torch_model(), bucket_bytes, "nothing")
    model.close()
    return [list(bucket.weights) for bucket in model.reducer.buckets]


def test_fc1_weight_leaves_before_the_convolutions_gradients_are_there(program):
    (rows,) = launch(buckets_of, 1, program["parallel"], program["BUCKET"], timeout=ENOUGH)
    assert rows == [
        ["fc2.bias", "fc2.weight", "fc1.bias"],
        ["fc1.weight"],
        ["conv2.bias", "conv2.weight", "conv1.bias", "conv1.weight"],
    ]


def trained(rank, ranks, train, cases):
    """Steps and messages by case."""
    found = {}
    for bucket_bytes, compress in cases:
        with recorded() as messages:
            steps = train(rank, ranks, 2, 8, 0.05, bucket_bytes, compress)
        found[bucket_bytes, compress] = steps, sum(message.sent for message in messages)
    return found


def test_ranks_train_as_one_process_does_whatever_the_buckets(program):
    cases = [(1 << 20, "nothing"), (1, "nothing"), (1 << 20, "half"), (1 << 20, "top-k")]
    two = launch(trained, 2, program["train"], cases, timeout=ENOUGH)
    ((alone, _),) = launch(trained, 1, program["train"], cases[:1], timeout=ENOUGH)[0].values()
    for case in cases:
        losses = [
            (one.loss + other.loss) / 2
            for one, other in zip(*(by_case[case][0] for by_case in two), strict=True)
        ]
        same = case[1] != "top-k"  # 1 % of the gradients is another step
        assert (losses == pytest.approx([step.loss for step in alone], abs=1e-4)) == same
    sent = {case: two[0][case][0][-1].sent for case in cases}
    assert sent[1 << 20, "nothing"] == sent[1, "nothing"] == BYTES, "2 (n - 1) / n of them"
    assert sent[1 << 20, "half"] == BYTES // 2
    assert sent[1 << 20, "top-k"] < BYTES // 40
    messages = {case: two[1][case][1] for case in cases}
    # In each of two steps and for each bucket: one message to sum half of it, one to hand it on.
    assert messages[1, "nothing"] - messages[1 << 20, "nothing"] == 2 * 2 * (8 - 3)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--batch", "7"], "--batch 7 cannot be dealt evenly to 2 ranks"),
        (["--bucket-bytes", "0"], "--bucket-bytes 0 holds no gradient; take at least 1"),
    ],
)
def test_a_command_that_cannot_be(words, sentence):
    command = [sys.executable, str(PROGRAM), *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=ENOUGH)
    assert ended.returncode == 2 and sentence in ended.stderr
