"""labkit.costs: the counts of the course's network against PyTorch's and against real tensors."""

import math
import operator

import pytest
import torch
from torch.nn.functional import cross_entropy, max_pool2d, relu
from torch.utils.flop_counter import FlopCounterMode

from labkit import convnet
from labkit.costs import LayerCost, Operation


def flops(cost, *operations):
    return sum(o.flops for o in cost.operations if o.name in operations)


def moved(cost, operation):
    (found,) = (o for o in cost.operations if o.name == operation)
    return found.bytes_read, found.bytes_written


@pytest.mark.parametrize("batch", [1, 7])
def test_conv_and_linear_flops_are_what_pytorch_counts(batch):
    costs = {cost.name: cost for cost in convnet.layer_costs(batch)}
    model, x = convnet.torch_model(), torch.zeros(batch, 3, 32, 32)
    labels = torch.zeros(batch, dtype=torch.int64)
    with FlopCounterMode(display=False) as forward:
        logits = model(x)
    with FlopCounterMode(display=False) as both:
        cross_entropy(model(x), labels).backward()
    by_layer = forward.get_flop_counts()
    for layer in ("conv1", "conv2", "fc1", "fc2"):
        assert flops(costs[layer], "forward") == sum(by_layer[f"ConvNet.{layer}"].values())
    matrix = [costs[layer] for layer in ("conv1", "conv2", "fc1", "fc2")]
    sums_of_db = batch * (32 * 32 * 32 + 64 * 16 * 16 + 128 + 10)  # PyTorch counts no additions
    counted = sum(flops(cost, "forward", "dW", "dX") for cost in matrix) - sums_of_db
    assert counted == both.get_total_flops()
    assert logits.shape == (batch, 10)


def test_bytes_are_those_of_real_tensors():
    batch, model, t = 3, convnet.torch_model(), {}
    t["image"] = torch.zeros(batch, 3, 32, 32)
    for conv, before in (("1", "image"), ("2", "pool1")):
        t["conv" + conv] = getattr(model, "conv" + conv)(t[before])
        t["relu" + conv] = relu(t["conv" + conv])
        t["pool" + conv] = max_pool2d(t["relu" + conv], 2)
    t["fc1"] = model.fc1(t["pool2"].flatten(1))
    t["relu3"] = relu(t["fc1"])
    t["fc2"] = model.fc2(t["relu3"])
    size = {name: tensor.nbytes for name, tensor in t.items()}
    costs, before = {cost.name: cost for cost in convnet.layer_costs(batch)}, "image"
    for name in list(t)[1:]:
        cost, i, o = costs[name], size[before], size[name]
        before = name
        if name.startswith("relu"):
            assert moved(cost, "forward") == (i, o)
            assert moved(cost, "dX") == (2 * o, i)
        elif name.startswith("pool"):
            assert moved(cost, "forward") == (i, o + t[name].numel())
            assert moved(cost, "dX") == (o + t[name].numel(), i)
        else:
            weight, bias = (p.nbytes for p in getattr(model, name).parameters())
            assert moved(cost, "forward") == (i + weight + bias, o)
            assert moved(cost, "dW") == (i + o, weight + bias)
            if name != "conv1":
                assert moved(cost, "dX") == (o + weight, i)
    parameters = sum(p.nbytes for p in model.parameters())
    assert moved(costs["sgd"], "update") == (3 * parameters, 2 * parameters)
    labels = torch.zeros(batch, dtype=torch.int64).nbytes
    assert moved(costs["loss"], "forward") == (size["fc2"] + labels, size["fc2"] + 4)
    assert moved(costs["loss"], "dX") == (size["fc2"] + labels, size["fc2"])


def ticking(operation):
    """The operation as a method of `Ticking` that counts itself."""

    def method(self, *others):
        Ticking.ticks += 1
        return Ticking(operation(self.value, *(other.value for other in others)))

    return method


class Ticking:
    """A number; the class counts the operations done on all of its kind."""

    ticks = 0

    def __init__(self, value):
        self.value = value

    __add__, __sub__ = ticking(operator.add), ticking(operator.sub)
    __mul__, __truediv__ = ticking(operator.mul), ticking(operator.truediv)
    larger, exp, log = ticking(max), ticking(math.exp), ticking(math.log)


def ticks_of(work):
    before = Ticking.ticks
    result = work()
    return Ticking.ticks - before, result


def test_loss_and_sgd_flops_are_those_of_doing_it_number_by_number():
    n, k = 3, 10
    rows = [[Ticking(0.1 * i * j) for j in range(k)] for i in range(n)]

    def forward():
        loss, softmax = Ticking(0.0), []
        for row in rows:
            largest = Ticking(-math.inf)
            for z in row:
                largest = largest.larger(z)
            shifted = [z - largest for z in row]
            powers, total = [z.exp() for z in shifted], Ticking(0.0)
            for e in powers:
                total = total + e
            loss = loss + (shifted[2] - total.log())  # the term of the mean
            softmax.append((powers, total))
        return softmax

    def backward(softmax):
        gradient = [[e / total for e in powers] for powers, total in softmax]
        for p in gradient:
            p[2] = p[2] - Ticking(1.0)
        return [[p * Ticking(1 / n) for p in row] for row in gradient]

    loss = convnet.layer_costs(n)[-2]
    done, softmax = ticks_of(forward)
    assert flops(loss, "forward") == done
    assert flops(loss, "dX") == ticks_of(lambda: backward(softmax))[0]

    p, g, v, lr, momentum = (Ticking(x) for x in (1.0, 2.0, 3.0, 0.1, 0.9))
    done, _ = ticks_of(lambda: p - lr * (momentum * v + g))
    parameters = sum(w.numel() for w in convnet.torch_model().parameters())
    assert flops(convnet.layer_costs(n)[-1], "update") == done * parameters


def test_the_rows_of_a_step():
    costs = convnet.layer_costs(128)
    assert [c.name for c in costs] == [*(layer.name for layer in convnet.LAYERS), "loss", "sgd"]
    conv1 = costs[0]
    assert [o.name for o in conv1.operations] == ["forward", "dW"]  # nobody needs dL/d(image)
    assert flops(conv1, "forward") == 128 * 2 * 32 * 32 * 32 * 27
    assert conv1.flops.word == conv1.bytes.word == conv1.intensity.word == "counted"
    assert float(conv1.intensity) == float(conv1.flops) / float(conv1.bytes)
    relu1, pool1 = costs[1:3]
    assert flops(relu1, "forward") == flops(relu1, "dX") == 128 * 32 * 32 * 32
    assert flops(pool1, "forward") == 128 * 32 * 16 * 16 * 3  # three comparisons find one of four


def test_a_layers_totals_are_the_sums_of_its_operations():
    invented = LayerCost("x", (Operation("forward", 1, 10, 200), Operation("dX", 5, 3000, 40000)))
    assert (float(invented.flops), float(invented.bytes)) == (6, 43210)
    for cost in [*convnet.layer_costs(3), *convnet.layer_costs(3, training=False)]:
        done = sum(o.flops for o in cost.operations)
        moved = sum(o.bytes_read for o in cost.operations)
        moved += sum(o.bytes_written for o in cost.operations)
        assert (float(cost.flops), cost.flops.unit) == (done, "FLOP"), cost.name
        assert (float(cost.bytes), cost.bytes.unit) == (moved, "B"), cost.name
        assert (float(cost.intensity), cost.intensity.unit) == (done / moved, "FLOP/B"), cost.name


def test_a_forward_pass_alone_costs_less():
    costs = convnet.layer_costs(128, training=False)
    assert [cost.name for cost in costs] == [layer.name for layer in convnet.LAYERS]
    assert all(len(cost.operations) == 1 for cost in costs)
    assert moved(costs[2], "forward")[1] == 4 * 128 * 32 * 16 * 16  # values without positions


@pytest.mark.parametrize("batch", [0, -1, 2.5, True])
def test_a_batch_is_a_positive_integer(batch):
    with pytest.raises(ValueError, match="batch is"):
        convnet.layer_costs(batch)
