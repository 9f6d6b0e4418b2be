"""autograd.py: layers beside the oracle and PyTorch, and none of them is PyTorch's."""

from collections import Counter

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from labkit import convnet
from labkit import reference as ref
from labkit.gpu.training import autograd
from labkit.gpu.training.autograd import SGD, ConvNet
from labkit.gpu.training.tensors import cuda, launches
from labkit.gpu.training.tensors import launch as tensors_launch
from numba_simt import cuda as simt
from numba_simt.launching import dispatcher as simt_dispatcher

on_the_simt_machine = pytest.mark.skipif(cuda is not simt, reason="a GPU runs the kernels here")
pytestmark = on_the_simt_machine  # the tests use CPU tensors

# What PyTorch may do in our layers: make memory, fill it with 0 or 1, and look at it in other ways.
MEMORY = {"empty", "empty_like", "new_empty", "zeros", "zeros_like", "new_zeros", "zero_"}
MEMORY |= {"ones_like", "view", "detach", "alias", "_unsafe_view", "_reshape_alias"}


class Operations(TorchDispatchMode):
    """The names of all operations that PyTorch runs meanwhile, backward passes included."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.names.add(function.overloadpacket.__name__)
        return function(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def counted():
    launches.clear()
    yield
    launches.clear()


def tensor(*shape: int, seed: int = 0) -> torch.Tensor:
    numbers = np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)
    return torch.from_numpy(numbers).clone().requires_grad_()


def gradients(layer, *inputs: torch.Tensor) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """Output, and the gradient of sum(output * dy) for a fixed random dy, of each input."""
    y = layer(*inputs)
    dy = torch.from_numpy(np.random.default_rng(9).standard_normal(y.shape).astype(np.float32))
    wanted = [t for t in inputs if t.requires_grad]
    return y.detach(), list(torch.autograd.grad(y, wanted, dy))


def same(ours: tuple, theirs: tuple) -> None:
    (y, dys), (right, rights) = ours, theirs
    torch.testing.assert_close(y, right, rtol=1e-4, atol=1e-4)
    for got, wanted in zip(dys, rights, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-4)


LINEAR = [(1, 1, 1), (3, 7, 5), (33, 10, 65), (16, 128, 40)]
CONV = [  # N, C, H, W, K, R, S, stride, padding
    (1, 1, 1, 1, 1, 1, 1, 1, 0),
    (2, 3, 7, 5, 4, 3, 3, 1, 1),
    (2, 2, 8, 9, 5, 2, 3, 2, 1),
    (3, 5, 6, 6, 2, 3, 3, 3, 0),
]


@pytest.mark.parametrize(("N", "K", "D"), LINEAR)
@pytest.mark.parametrize("bias", [True, False])
def test_linear(N, K, D, bias):
    inputs = [tensor(N, D), tensor(K, D)] + [tensor(K)] * bias
    same(gradients(autograd.linear, *inputs), gradients(F.linear, *inputs))


def test_linear_beside_the_oracle():
    x, w, b = inputs = tensor(6, 9), tensor(4, 9), tensor(4)
    y, (dx, dw, db) = gradients(autograd.linear, *inputs)
    x, w, b = (t.detach().numpy() for t in inputs)
    dy = np.random.default_rng(9).standard_normal(y.shape).astype(np.float32)
    np.testing.assert_allclose(y, ref.linear(x, w, b), rtol=1e-4, atol=1e-5)
    for got, wanted in zip((dx, dw, db), ref.linear_backward(dy, x, w), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", CONV, ids=str)
@pytest.mark.parametrize("bias", [True, False])
def test_conv2d(sizes, bias):
    N, C, H, W, K, R, S, stride, padding = sizes
    inputs = [tensor(N, C, H, W), tensor(K, C, R, S)] + [tensor(K)] * bias
    ours = gradients(lambda *i: autograd.conv2d(*i, stride=stride, padding=padding), *inputs)
    same(ours, gradients(lambda *i: F.conv2d(*i, stride=stride, padding=padding), *inputs))


def test_relu_of_any_shape():
    for shape in [(1,), (5, 3), (2, 3, 4, 5), (4097,)]:
        x = tensor(*shape)
        same(gradients(autograd.relu, x), gradients(F.relu, x))


@pytest.mark.parametrize(("size", "stride"), [(2, None), (3, 2), (2, 1)])
def test_max_pool2d(size, stride):
    x = tensor(2, 3, 7, 9)
    ours = gradients(lambda x: autograd.max_pool2d(x, size, stride), x)
    same(ours, gradients(lambda x: F.max_pool2d(x, size, stride), x))


def eager(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.max_pool2d(F.relu(x + b[:, None, None]), 2)


@pytest.mark.parametrize("shape", [(1, 1, 2, 2), (3, 4, 8, 8), (2, 3, 5, 7)], ids=str)
def test_bias_relu_pool(shape):
    inputs = tensor(*shape), tensor(shape[1])
    same(gradients(autograd.bias_relu_pool, *inputs), gradients(eager, *inputs))


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
def test_cross_entropy(kind):
    logits, labels = tensor(7, 10), torch.arange(7).to(kind)
    ours = gradients(lambda logits: autograd.cross_entropy(logits, labels), logits)
    same(ours, gradients(lambda logits: F.cross_entropy(logits, labels.long()), logits))
    assert ours[0].shape == ()


def test_a_gradient_that_is_not_contiguous_is_made_so():
    x, w, b = tensor(4, 4), tensor(4, 4), tensor(4)
    same(
        gradients(lambda *i: autograd.linear(*i).T, x, w, b),
        gradients(lambda *i: F.linear(*i).T, x, w, b),
    )
    autograd.relu(x).sum().backward()  # dy is one number, expanded
    assert torch.equal(x.grad, (x > 0).float())


def test_only_the_gradients_that_are_asked_for_are_computed():
    x, w, b = tensor(2, 3, 6, 6).detach(), tensor(4, 3, 3, 3), tensor(4)
    autograd.conv2d(x, w, b, layer="conv").sum().backward()
    assert {layer for layer, _ in launches} == {"conv", "conv dw", "conv db"}
    launches.clear()
    with torch.no_grad():
        assert not autograd.linear(tensor(2, 3), tensor(4, 3)).requires_grad
    assert sum(launches.values()) == 1


def test_a_gradient_of_a_gradient_is_refused():
    x = tensor(3)
    (dx,) = torch.autograd.grad(autograd.relu(x), x, tensor(3, seed=1), create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


X, IMAGE = torch.zeros(2, 3), torch.zeros(2, 3, 6, 6)
REFUSED = {
    "D": (
        lambda: autograd.linear(X, torch.zeros(4, 2)),
        r"x\[2,3\] and w\[4,2\] do not fit: D is 3",
    ),
    "bias": (lambda: autograd.linear(X, torch.zeros(4, 3), torch.zeros(5)), "K is 4 .* 5"),
    "float64": (lambda: autograd.linear(X.double(), X), "holds torch.float64, not float32"),
    "half": (lambda: autograd.relu(X.half()), "holds torch.float16, not float32"),
    "transposed": (lambda: autograd.linear(X.T, torch.zeros(4, 2)), "is not contiguous"),
    "transposed relu": (lambda: autograd.relu(X.T), "is not contiguous"),
    "axes": (lambda: autograd.conv2d(X, IMAGE), r"x\[2,3\] has 2 axes; x\[N,C,H,W\] is expected"),
    "channels": (lambda: autograd.conv2d(IMAGE, torch.zeros(1, 2, 3, 3)), "C is 3 .* 2"),
    "window": (lambda: autograd.conv2d(IMAGE, torch.zeros(1, 3, 7, 7)), "does not fit"),
    "stride": (lambda: autograd.conv2d(IMAGE, torch.zeros(1, 3, 3, 3), stride=0), "stride is 0"),
    "channels last": (
        lambda: autograd.max_pool2d(IMAGE.contiguous(memory_format=torch.channels_last)),
        "is not contiguous",
    ),
    "pool": (lambda: autograd.max_pool2d(IMAGE, 7), "does not fit"),
    "empty": (lambda: autograd.relu(torch.zeros(0)), "from 1 to"),
    "no images": (lambda: autograd.conv2d(IMAGE[:0], torch.zeros(1, 3, 3, 3)), "x, .* from 1 to"),
    "no filters": (lambda: autograd.conv2d(IMAGE, torch.zeros(0, 3, 3, 3)), "w, .* from 1 to"),
    "w of linear": (lambda: autograd.linear(X, torch.zeros(3, 4).T), r"^linear: w, float32\[4,3\]"),
    "long stride": (
        lambda: autograd.conv2d(IMAGE, torch.zeros(1, 3, 3, 3), stride=2**32),
        "stride 4294967296 .* 2..31 or more",
    ),
    "elsewhere": (lambda: autograd.relu(torch.zeros(3, device="meta")), "outside of the SIMT"),
    "float labels": (lambda: autograd.cross_entropy(X, torch.zeros(2)), "use integers"),
    "few labels": (lambda: autograd.cross_entropy(X, torch.zeros(1).long()), "N is 2 .* 1"),
    "no class": (
        lambda: autograd.cross_entropy(X, torch.tensor([0, 3])),
        r"labels\[1\] is 3 but .* 3 classes",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_a_sentence(name):
    call, words = REFUSED[name]
    with pytest.raises(ValueError, match=words) as refusal:
        call()
    assert str(refusal.value).endswith(".") and not launches


def test_an_array_is_no_tensor():
    with pytest.raises(TypeError, match="relu: x is a ndarray, not a tensor"):
        autograd.relu(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="relu: x is a NoneType, not a tensor"):
        autograd.relu(None)
    with pytest.raises(TypeError, match="linear: w is a NoneType, not a tensor"):
        autograd.linear(X, None)


def operations_of_a_step() -> set[str]:
    """What PyTorch runs in a forward pass, a backward pass and a step of the optimizer."""
    model = ConvNet(convnet.init(1))
    optimizer = SGD(model.parameters(), lr=0.01)
    x, labels = tensor(2, 3, 32, 32).detach(), torch.tensor([3, 9])
    with Operations() as operations:
        loss = autograd.cross_entropy(model(x), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return {name for name in operations.names if not name.startswith("_record_function")}


@pytest.fixture
def ran(monkeypatch) -> Counter[str]:
    """How often the SIMT machine ran each kernel, by its own account."""
    runs, run = Counter(), simt_dispatcher.LaunchConfiguration.run

    def count(launch, *arguments, **options):
        outcome = run(launch, *arguments, **options)
        runs[launch.kernel.__name__] += 1
        return outcome

    monkeypatch.setattr(simt_dispatcher.LaunchConfiguration, "run", count)
    return runs


def counted_by_kernel() -> Counter[str]:
    return sum((Counter({kernel: n}) for (_, kernel), n in launches.items()), Counter())


def test_a_training_step_uses_pytorch_for_memory_only(ran):
    assert operations_of_a_step() <= MEMORY
    assert ran == counted_by_kernel()
    kernels = {"linear": 2, "linear_dx": 2, "linear_dw": 2, "implicit_dw": 2, "sgd_momentum": 8}
    assert ran >= Counter(kernels) and ran.total() == 30


def test_a_gradient_by_numpy_would_be_caught(ran, monkeypatch):
    """Which no operation of PyTorch gives away, though it is counted as a launch of ours."""

    def launch(plan, *arguments, layer):
        if plan.kernel.__name__ != "linear_dw":
            return tensors_launch(plan, *arguments, layer=layer)
        dy, x, dw = arguments[:3]
        dw.numpy()[...] = dy.numpy().T @ x.detach().numpy()
        launches[layer, plan.kernel.__name__] += 1
        return dw

    monkeypatch.setattr(autograd, "launch", launch)
    inputs = tensor(3, 5), tensor(4, 5), tensor(4)
    same(gradients(autograd.linear, *inputs), gradients(F.linear, *inputs))
    assert counted_by_kernel() - ran == Counter({"linear_dw": 1})


BORROWED = {  # a layer of PyTorch in the place of ours -> an operation that gives it away
    "linear": (lambda x, w, b, layer: F.linear(x, w, b), "addmm"),
    "conv2d": (lambda x, w, padding, layer: F.conv2d(x, w, padding=padding), "convolution"),
    "relu": (lambda x, layer: F.relu(x), "relu"),
    "bias_relu_pool": (lambda x, b, layer: eager(x, b), "max_pool2d_with_indices"),
}


@pytest.mark.parametrize("name", BORROWED)
def test_a_layer_of_pytorch_would_be_caught(name, monkeypatch):
    layer, operation = BORROWED[name]
    monkeypatch.setattr(autograd, name, layer)
    assert operation in operations_of_a_step() - MEMORY


def test_a_backward_of_pytorch_would_be_caught(monkeypatch):
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return None, None, dy * (y > 0)

    monkeypatch.setattr(autograd._Layer, "backward", staticmethod(backward))
    with Operations() as operations:
        gradients(autograd.relu, tensor(5))
    assert {"mul", "gt"} <= operations.names - MEMORY


def test_the_network_has_the_names_and_weights_of_the_course():
    weights = convnet.init(3)
    model = ConvNet(weights)
    assert {name: tuple(t.shape) for name, t in model.state_dict().items()} == convnet.SHAPES
    assert all(np.array_equal(model.state_dict()[name], w) for name, w in weights.items())
    theirs = convnet.torch_model()
    theirs.load_state_dict(model.state_dict())
    x = tensor(1, 3, 32, 32).detach()
    with torch.no_grad():
        torch.testing.assert_close(model(x), theirs(x), rtol=1e-4, atol=1e-4)
    torch.manual_seed(5)
    fresh = ConvNet().state_dict()
    torch.manual_seed(5)
    assert torch.equal(fresh["fc1.weight"], convnet.torch_model().state_dict()["fc1.weight"])


def test_sgd_is_that_of_pytorch():
    ours, theirs = (torch.nn.Parameter(tensor(7, 5).detach().clone()) for _ in range(2))
    idle = torch.nn.Parameter(torch.ones(3))  # has no gradient
    steppers = [
        SGD([ours, idle], lr=0.1, momentum=0.9),
        torch.optim.SGD([theirs], lr=0.1, momentum=0.9),
    ]
    for seed in range(4):
        ours.grad = theirs.grad = tensor(5, 7, seed=seed).detach().T  # not contiguous
        for stepper in steppers:
            stepper.step()
        torch.testing.assert_close(ours.data, theirs.data)
    buffer = steppers[0].state_dict()["state"][0]["momentum_buffer"]
    torch.testing.assert_close(buffer, steppers[1].state[theirs]["momentum_buffer"])
    assert idle.tolist() == [1, 1, 1]
    assert launches == {("sgd", "sgd_momentum"): 4}


def test_sgd_calls_a_closure_and_refuses_a_negative_rate():
    p = torch.nn.Parameter(torch.ones(2))
    stepper = SGD([p], lr=0.5, momentum=0.0)

    def closure() -> torch.Tensor:
        stepper.zero_grad()
        loss = autograd.relu(p).sum()
        loss.backward()
        return loss

    assert stepper.step(closure).item() == 2
    assert p.tolist() == [0.5, 0.5]
    for rates in [{"lr": -1}, {"lr": 1, "momentum": -0.1}, {"lr": float("nan")}, {"lr": "a"}]:
        with pytest.raises(ValueError, match=r"SGD: .* is .*: give a number from 0 on"):
            SGD([p], **rates)


OTHER = {"weight_decay": 0.1, "nesterov": True, "dampening": 0.5, "maximize": True, "lr": -1.0}


@pytest.mark.parametrize("name", OTHER)
def test_options_that_the_kernel_does_not_do_are_refused(name):
    p = torch.nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    with pytest.raises(ValueError, match=f"SGD: {name} is {OTHER[name]}"):
        SGD([{"params": [p], name: OTHER[name]}], lr=0.5)
    theirs = torch.optim.SGD([p], lr=0.5, momentum=0.9)
    ours = SGD([p], lr=0.1)
    ours.load_state_dict(theirs.state_dict())  # in which all of these are 0 or False
    ours.step()
    assert p.tolist() == [0.5, 0.5]
    theirs.param_groups[0][name] = OTHER[name]
    ours.load_state_dict(theirs.state_dict())
    with pytest.raises(ValueError, match=f"SGD: {name} is {OTHER[name]}"):
        ours.step()
    assert p.tolist() == [0.5, 0.5]


def test_a_sparse_gradient_is_refused():
    p = torch.nn.Parameter(torch.ones(4, 2))
    torch.nn.functional.embedding(torch.tensor([1]), p, sparse=True).sum().backward()
    with pytest.raises(ValueError, match=r"gradient is sparse.*use \.to_dense\(\)\."):
        SGD([p], lr=0.1).step()
    assert (p == 1).all()


def test_pytorch_knows_that_a_step_changed_the_weights():
    x, w = tensor(2, 3), torch.nn.Parameter(torch.ones(4, 3))
    loss = autograd.linear(x, w).sum()
    w.grad = torch.ones(4, 3)
    SGD([w], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
