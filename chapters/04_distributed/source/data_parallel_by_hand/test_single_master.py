"""One master: what nn.DataParallel does without a GPU, and the bytes of its steps on ranks."""

from collections import Counter

import pytest
import torch

from labkit import convnet
from labkit.distributed import launch, one_big_batch
from labkit_lessons.distributed.data_parallel_by_hand import single_master

ENOUGH = 300.0
WEIGHTS = sum(weight.numel() for weight in convnet.torch_model().parameters())
IMAGE = 3 * 32 * 32
FLOAT = 4  # bytes


def data(rows: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(rows, 3, 32, 32, generator=generator)
    return images, torch.randint(0, 10, (rows,), generator=generator)


@pytest.mark.skipif(torch.cuda.is_available(), reason="with GPUs it splits the batch")
def test_without_a_gpu_data_parallel_merely_calls_the_module():
    module = torch.nn.Linear(3, 2)
    assert single_master.calls(module, torch.ones(8, 3)) == [(8, 3)]
    assert not module._forward_pre_hooks, "nothing stays behind"


def program(rank, ranks, rows):
    torch.manual_seed(rank)  # only the master's weights count
    model = convnet.torch_model()
    images, labels = data(rows)
    if rank != single_master.MASTER:
        images, labels = torch.full_like(images, 9), torch.full_like(labels, 9)
    loss, ledger = single_master.forward_backward(model, images, labels)
    return loss, one_big_batch.gradients(model), one_big_batch.weights(model), ledger


@pytest.fixture(scope="module", params=[(1, 3), (2, 5), (3, 2)], ids=str)
def run(request):
    """(ranks, rows of the batch, what each rank returned)"""
    ranks, rows = request.param
    return ranks, rows, launch(program, ranks, rows, timeout=ENOUGH)


def test_the_master_has_the_gradients_of_one_big_batch(run):
    _, rows, found = run
    torch.manual_seed(single_master.MASTER)
    model = convnet.torch_model()
    expected = one_big_batch.forward_backward(model, *data(rows))
    loss, gradients, weights, _ = found[single_master.MASTER]
    assert loss == pytest.approx(expected, abs=1e-6)
    assert one_big_batch.largest_difference(gradients, one_big_batch.gradients(model)) < 1e-6
    for other_loss, _, other_weights, _ in found[1:]:
        assert other_loss is None
        assert one_big_batch.largest_difference(other_weights, weights) == 0


def test_the_master_s_bytes(run):
    """Every message has the master at one end, and the bytes are those of the formulas."""
    ranks, rows, found = run
    ledger = found[single_master.MASTER][3]
    kept = -(-rows // ranks)  # the master's own rows
    each = {
        "scatter": ("sent", (rows - kept) * IMAGE * FLOAT),
        "replicate": ("sent", (ranks - 1) * WEIGHTS * FLOAT),
        "gather": ("received", (rows - kept) * 10 * FLOAT),
        "gather, backward": ("sent", (rows - kept) * 10 * FLOAT),
        "reduce": ("received", (ranks - 1) * WEIGHTS * FLOAT),
    }
    assert list(ledger) == list(each)
    for step, (direction, size) in each.items():
        assert sum(m.bytes for m in ledger[step]) == size, step
        assert len(ledger[step]) == ranks - 1
        for message in ledger[step]:
            assert message.sent is (direction == "sent")
            end = message.source if message.sent else message.target
            assert end == single_master.MASTER


def test_the_helpers_wrote_down_the_same(run):
    _, _, found = run
    for step, messages in found[single_master.MASTER][3].items():
        theirs = [m for _, _, _, ledger in found[1:] for m in ledger[step]]
        ends = [Counter((m.source, m.target, m.bytes) for m in side) for side in (messages, theirs)]
        assert ends[0] == ends[1]
