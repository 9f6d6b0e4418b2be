"""Our data parallelism against torch's DistributedDataParallel, and against one big batch."""

import gc

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import cross_entropy

from labkit.distributed import LaunchError, launch
from labkit.distributed.collectives import ring_all_reduce
from labkit.distributed.ddp import DataParallel
from labkit.distributed.gradients.compression import Compressor, for_model
from labkit.distributed.one_big_batch import descend, gradients, largest_difference, weights

ENOUGH = 300.0
ROWS = 5  # of a rank's batch
STEPS = 3
BYTES = 150  # of a bucket, so that there are several


class Net(nn.Module):
    """With a weight used twice, frozen weights, a buffer, and layers used out of order."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(6, 3)
        self.first = nn.Linear(4, 6)
        self.twice = nn.Linear(6, 6)
        self.also = nn.Linear(6, 6)
        self.also.weight = self.twice.weight
        self.frozen = nn.Linear(6, 6)
        self.frozen.requires_grad_(False)
        self.norm = nn.BatchNorm1d(6)
        self.gain = nn.Parameter(torch.ones(()))

    def forward(self, x):  # [N, 4] -> [N, 3]
        x = self.norm(self.first(x)).relu()
        x = self.also(self.frozen(self.twice(x).tanh())) * self.gain
        return self.head(x)


def batch(rank, step, rows=ROWS):
    generator = torch.Generator().manual_seed(100 * rank + step)
    return (
        torch.randn(rows, 4, generator=generator),
        torch.randint(0, 3, (rows,), generator=generator),
    )


def apart(rank):
    """A net that differs from rank to rank, its buffers and frozen weights too."""
    torch.manual_seed(rank)
    net = Net()
    net.norm.running_mean.fill_(rank)
    return net


def torch_s(net):
    return nn.parallel.DistributedDataParallel(net, bucket_cap_mb=BYTES / 2**20)


def trained(model, net, rank, accumulate=1):
    """Gradients and weights after each step; ours has `finish`, torch's has not."""
    found = []
    for step in range(STEPS):
        net.zero_grad(set_to_none=step % 2 == 0)
        with model.no_sync():
            for part in range(accumulate - 1):
                images, labels = batch(rank, 10 * step + part)
                cross_entropy(model(images), labels).backward()
        images, labels = batch(rank, 10 * step + 9)
        cross_entropy(model(images), labels).backward()
        if hasattr(model, "finish"):
            model.finish()
        descend(net, 0.5)
        found.append((gradients(net), weights(net)))
    return found


def joined(model, net, rank, by_all):
    """The weights after rank + 1 steps of rank `rank`."""
    net.eval()  # BatchNorm's buffers are handed out by torch before each forward, which is not ours
    with model.join(divide_by_initial_world_size=by_all):
        for step in range(rank + 1):
            net.zero_grad()
            images, labels = batch(rank, step)
            cross_entropy(model(images), labels).backward()
            if hasattr(model, "finish"):
                model.finish()
            descend(net, 0.5)
    return [(gradients(net), weights(net))]


def beside_torch_s(rank, ranks):
    """For each number of accumulated batches and way to reduce, and for uneven inputs: (ours,
    torch's)."""
    found = {}
    for accumulate in (1, 3):
        net = apart(rank)
        theirs = torch_s(net)
        expected = trained(theirs, net, rank, accumulate)
        del theirs
        for all_reduce in (None, ring_all_reduce):
            net = apart(rank)
            model = DataParallel(net, BYTES, BYTES // 2, all_reduce)
            assert len(model.reducer.buckets) > 3
            ours = trained(model, net, rank, accumulate)
            model.close()
            found[accumulate, getattr(all_reduce, "__name__", "None")] = ours, expected
    for by_all in (True, False):
        net = apart(0)
        theirs = torch_s(net)
        expected = joined(theirs, net, rank, by_all)
        del theirs
        net = apart(0)
        model = DataParallel(net, BYTES)
        found["join", by_all] = joined(model, net, rank, by_all), expected
    del net, model
    gc.collect()
    dist.barrier()
    return found


@pytest.fixture(scope="module")
def results():
    return launch(beside_torch_s, 3, timeout=ENOUGH)  # once: torch's takes seconds to load


@pytest.mark.parametrize("accumulate", [1, 3])
@pytest.mark.parametrize("way", ["None", "ring_all_reduce"])
def test_gradients_and_weights_equal_those_of_distributed_data_parallel(results, accumulate, way):
    for rank in range(3):
        ours, theirs = results[rank][accumulate, way]
        for step in range(STEPS):
            for mine, other in zip(ours[step], theirs[step], strict=True):
                assert largest_difference(mine, other) < 1e-6
        first, _ = results[0][accumulate, way]
        assert largest_difference(ours[-1][1], first[-1][1]) == 0, "ranks stay alike"


@pytest.mark.parametrize("by_all", [True, False])
def test_uneven_inputs_end_as_with_torch_s_join(results, by_all):
    for rank in range(3):
        ours, theirs = results[rank]["join", by_all]
        assert largest_difference(ours[-1][1], theirs[-1][1]) < 1e-6


def test_one_big_batch():
    """Without BatchNorm, n ranks with b rows each are one process with n b rows."""

    def program(rank, ranks):
        torch.manual_seed(rank)
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
        model = DataParallel(net, bucket_bytes=64)
        start = weights(net)
        images, labels = batch(rank, 0)
        cross_entropy(model(images), labels).backward()
        model.finish()
        return start, gradients(net)

    found = launch(program, 2, timeout=ENOUGH)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    net.load_state_dict(found[0][0])
    images, labels = zip(*[batch(rank, 0) for rank in range(2)], strict=True)
    cross_entropy(net(torch.cat(images)), torch.cat(labels)).backward()
    for start, grads in found:
        assert largest_difference(start, found[0][0]) == 0
        assert largest_difference(grads, gradients(net)) < 1e-6


def test_full_buckets_leave_while_the_backward_runs():
    """When the first layer's gradient comes, those of the others are on their way already."""

    def program(rank, ranks):
        net = nn.Sequential(*[nn.Linear(4, 4, bias=False) for _ in range(4)])
        model = DataParallel(net, bucket_bytes=64)
        sent = []
        for layer in net:
            layer.weight.register_hook(lambda _: sent.append(model.reducer.sent))
        with model.no_sync():
            model(torch.ones(1, 4)).sum().backward()
        model(torch.ones(1, 4)).sum().backward()
        sent.append(model.reducer.sent)
        model.finish()
        return sent

    assert launch(program, 2, timeout=ENOUGH) == [[0, 0, 0, 0, 0, 1, 2, 3, 4]] * 2


def test_buckets_travel_in_the_same_order_where_ranks_use_layers_in_another():
    def program(rank, ranks):
        torch.manual_seed(0)
        net = nn.ModuleDict({name: nn.Linear(3, 3, bias=False) for name in "abc"})
        model = DataParallel(net, bucket_bytes=36, all_reduce=ring_all_reduce)
        order = "abc" if rank == 0 else "cba"
        x = torch.ones(1, 3)
        total = sum(net[name](x).sum() * (rank + 1) * (ord(name) - 96) for name in order)
        total.backward()
        model.finish()
        model.close()
        return [float(net[name].weight.grad[0, 0]) for name in "abc"]

    assert launch(program, 2, timeout=ENOUGH) == [[1.5, 3.0, 4.5]] * 2


def test_sums_of_float16_do_not_overflow():
    """40,000 on each of two ranks: the mean fits float16, the sum does not."""

    def program(rank, ranks):
        net = nn.Linear(1, 1, bias=False).half()
        model = DataParallel(net)
        model(torch.ones(1, 1).half()).backward(torch.full((1, 1), 40_000.0).half())
        model.finish()
        return net.weight.grad.item()

    assert launch(program, 2, timeout=ENOUGH) == [40_000.0] * 2


def test_outside_of_a_launch():
    with pytest.raises(RuntimeError, match="in a function that `launch` runs"):
        DataParallel(nn.Linear(1, 1))


def failing(rank, ranks, what, all_reduce):
    torch.manual_seed(0)
    net = nn.ModuleDict({name: nn.Linear(2, 2, bias=False) for name in "abc"})
    model = DataParallel(net, bucket_bytes=16, all_reduce=all_reduce)
    x = torch.ones(1, 2)

    def loss(names):
        return model.module["a"](sum(net[name](x) for name in names)).sum()

    if what == "unused on rank 1":
        loss("bc" if rank == 0 else "c").backward()
        model.finish()
    if what == "unused everywhere":
        loss("c").backward()
        model.finish()
    if what == "twice":
        loss("bc").backward()
        loss("bc").backward()
    if what == "no backward":
        model.finish()
    if what == "within no_sync":
        with model.no_sync():
            loss("bc").backward()
            model.finish()
    if what == "sparse":
        model = DataParallel(nn.Embedding(3, 2, sparse=True))
        model(torch.tensor([1])).sum().backward()
    if what == "forgotten, at the next forward":
        loss("bc").backward()
        model(x)
    if what == "forgotten":
        optimizer = torch.optim.SGD(net["b"].parameters(), 0.1)
        loss("bc").backward()
        optimizer.step()
    if what == "joined with compressors":
        with DataParallel(net, compressors=for_model(net, Compressor)).join():
            pass
    if what == "no compressor":
        DataParallel(net, compressors=for_model(net["a"], Compressor))


SENTENCES = {
    "unused on rank 1": r"Rank 1 raised RuntimeError: The loss does not depend on b.weight: no",
    "unused everywhere": r"does not depend on b.weight: no gradient became ready",
    "twice": r"gradient of a.weight is ready for the second time in one step.*`no_sync\(\)`",
    "no backward": r"finish\(\) finds no gradients: call it once after each backward\(\)",
    "within no_sync": r"Within `no_sync\(\)` nothing travels",
    "sparse": r"The gradient of weight is sparse, and a bucket is dense: make its layer",
    "forgotten": r"finish\(\) was not called after the last backward\(\).*before the optimiser's",
    "forgotten, at the next forward": r"finish\(\) was not called after the last backward\(\)",
    "joined with compressors": r"join\(\): without a batch, a rank has no gradients to compress",
    "no compressor": r"c.weight has no compressor; see compression.for_model",
}


@pytest.mark.parametrize("what", SENTENCES)
def test_mistakes_are_told_and_nothing_hangs(what):
    all_reduce = ring_all_reduce if what == "unused on rank 1" else None
    with pytest.raises(LaunchError, match=SENTENCES[what]):
        launch(failing, 2, what, all_reduce, timeout=ENOUGH)


def without_alarm(rank, ranks):
    """What may step, and when: nothing here is refused. The weight after each step."""
    torch.manual_seed(0)
    net, other = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    model = DataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 0.5)
    found = [net.weight.item()]
    optimizer.step()  # without a gradient nothing moves
    with model.no_sync():
        model(torch.full((1, 1), 2.0 * rank)).sum().backward()  # accumulates: this rank's alone
    model(torch.full((1, 1), 1.0)).sum().backward()
    with torch.no_grad():
        model(torch.ones(1, 1))  # a validation before finish()
    other(torch.ones(1, 1)).sum().backward()
    torch.optim.SGD(other.parameters(), 0.5).step()  # another model's optimiser
    model.finish()
    model(torch.ones(1, 1))  # a forward without a backward
    optimizer.step()
    found.append(net.weight.item())
    with model.no_sync():  # one rank by itself, if it wants to
        model(torch.ones(1, 1)).sum().backward()
        optimizer.step()
    model(torch.ones(1, 1)).sum().backward()
    model.close()
    optimizer.step()  # closed: the module is on its own
    return found


def test_what_may_step_is_not_refused():
    for before, after in launch(without_alarm, 2, timeout=ENOUGH):
        assert after == pytest.approx(before - 0.5 * (1 + 1)), "the ranks' mean of 2 * rank, and 1"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda rank: nn.Linear(2, 2 + rank), r"weight is float32\[2, 2\], trained on rank 0 and"),
        (lambda rank: nn.Linear(2, 2, bias=rank == 0), "bias is .* and absent on rank 1"),
        (lambda rank: nn.Linear(2, 2).requires_grad_(False), "no weight of the module is trained"),
        (lambda rank: nn.Linear(2, 2).to((torch.float32, torch.float64)[rank]), "float64"),
    ],
)
def test_modules_that_differ_are_refused(make, sentence):
    with pytest.raises(LaunchError, match=sentence):
        launch(lambda rank, ranks: DataParallel(make(rank)) and None, 2, timeout=ENOUGH)
