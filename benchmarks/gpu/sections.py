"""What `make bench-gpu` measures: each section is a function (bench, row) -> value, details."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import nsight
import torch
from timing import Host, NotHere, Prepare, Task, Tensors, Timing, measure
from torch.nn import functional as F
from torch.nn.grad import conv2d_input, conv2d_weight

from labkit import convnet
from labkit.gpu import autograd
from labkit.gpu.kernels import Plan, implicit_gemm
from labkit.gpu.kernels.matmul import plan_matmul
from labkit.gpu.kernels.pointwise import plan_copy, plan_relu
from labkit.gpu.kernels.pooling import plan_bias_relu_pool
from labkit.gpu.kernels.reductions import plan_row_sum
from labkit.gpu.kernels.softmax import plan_softmax
from labkit.gpu.step_cost import sixteen_bits
from labkit.gpu.tensors import launch
from labkit.provenance import measured

Result = tuple[float, str]
Shape = tuple[int, ...]


class Bench(NamedTuple):
    """Where to run; `dry`: small enough for the SIMT machine."""

    device: Host
    dry: bool

    def size(self, full: int, small: int) -> int:
        return small if self.dry else full


def normal(*shapes: Shape, dtype: torch.dtype = torch.float32) -> Callable:
    """Inputs from the normal distribution."""
    return lambda g: tuple(
        torch.randn(shape, generator=g, device=g.device).to(dtype) for shape in shapes
    )


def steps(*shapes: Shape) -> Callable:
    """The same in steps of 1/256: x + b is exact, so that no rounding decides which is larger."""
    return lambda g: tuple((256 * t).round() / 256 for t in normal(*shapes)(g))


def labels(N: int, g: torch.Generator) -> torch.Tensor:
    return torch.randint(0, 10, (N,), generator=g, device=g.device)


def ours(plan: Plan, *numbers: int, view: Callable = lambda t: t, zero: bool = False) -> Prepare:
    """The side that launches the plan's kernel on inputs, outputs and numbers.

    `zero`: the kernel adds to its output, so that setting it to 0 is part of the work.
    """

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], None]:
        tensors = [*map(view, (*inputs, *outputs))]

        def run() -> None:
            for out in outputs if zero else ():
                out.zero_()
            launch(plan, *tensors, *numbers)

        return run

    return prepare


def theirs(function: Callable, out: bool = False) -> Prepare:
    """The side that calls PyTorch; with `out`, it writes into the poisoned output."""
    if out:
        return lambda inputs, outputs: lambda: function(*inputs, out=outputs[0])
    return lambda inputs, outputs: lambda: function(*inputs)


def beside(times: dict[str, Timing], work: float = 0, unit: str = "FLOP/s") -> str:
    """The times of the sides; with `work`, their rates too."""

    def said(name: str, timing: Timing) -> str:
        rate = f", {measured(work / timing.seconds, unit).number}" if work else ""
        return f"{name} {measured(timing.seconds, 's').number}{rate}"

    return "; ".join(said(name, timing) for name, timing in times.items())


def ratio(times: dict[str, Timing], side: str) -> float:
    """How many times as fast as `side` our kernel is."""
    return times[side].seconds / times["ours"].seconds


def matmul(bench: Bench, rung: str) -> Result:
    n = bench.size(4096, 70)
    sides = {"ours": ours(plan_matmul(n, n, rung), n, n, n)}
    sides["cuBLAS"] = theirs(torch.matmul, out=True)
    task = Task(rung, normal((n, n), (n, n)), ((n, n),), sides, lambda a, b: (a @ b,))
    times = measure(task, bench.device)
    return 100 * ratio(times, "cuBLAS"), beside(times, 2 * n**3)


def as_words(t: torch.Tensor) -> torch.Tensor:
    """Two float16 in one uint32, as the tensor-core kernel takes them."""
    return t.view(torch.uint32) if t.dtype == torch.float16 else t


def tensor_cores(bench: Bench, row: str) -> Result:
    from labkit.gpu.kernels.tensor_core import plan_tensor_core

    if not bench.dry and torch.cuda.get_device_capability() < (8, 0):
        raise NotHere("mma.m16n8k16 needs sm_80 or higher")
    n = bench.size(4096, 70)
    inputs = normal((n, n), (n, n), dtype=torch.float16)
    sides = {"ours": ours(plan_tensor_core(n, n), n, n, n, view=as_words)}
    sides["cuBLAS"] = theirs(lambda a, b: a @ b.T)
    limits = {"ours": 1e-3, "cuBLAS": 5e-3}  # cuBLAS rounds its result to float16
    task = Task(row, inputs, ((n, n),), sides, lambda a, b: (a @ b.T,), limits)
    times = measure(task, bench.device)
    return 100 * ratio(times, "cuBLAS"), beside(times, 2 * n**3)


def copy(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
    return x.clone() if out is None else out.copy_(x)


def memory(bench: Bench, row: str) -> Result:
    columns = bench.size(4096, 70)
    rows = bench.size(min(2**16, bench.device.memory // (128 * columns)), 3)
    n = rows * columns
    flat = (n,)
    table = (rows, columns)
    kinds = {  # row: shapes in and out, PyTorch's function, our plan
        "copy": (flat, flat, copy, plan_copy(n)),
        "ReLU": (flat, flat, partial(torch.clamp, min=0), plan_relu(n)),
        "row sum": (table, (rows,), partial(torch.sum, dim=1), plan_row_sum(*table)),
        "softmax": (table, table, partial(torch.softmax, dim=1), plan_softmax(*table)),
    }
    times = {}
    moved = {}
    for name in dict.fromkeys(("copy", row)):  # bytes, if each number is read once and written once
        shape, out, function, plan = kinds[name]
        moved[name] = 4 * (n + torch.Size(out).numel())
        sides = {"ours": ours(plan), "PyTorch": theirs(function, out=True)}
        task = Task(name, normal(shape), (out,), sides, lambda x, f=function: (f(x),))
        times[name] = measure(task, bench.device)
    bandwidth = moved["copy"] / times["copy"]["PyTorch"].seconds
    found = f"{beside(times[row], moved[row], 'B/s')}; copy {measured(bandwidth, 'B/s').number}"
    return 100 * moved[row] / times[row]["ours"].seconds / bandwidth, found


def implicit(bench: Bench, row: str) -> Result:
    """Beside our tuned matmul with the same M, N, K (so the same operations), and cuDNN."""
    N = bench.size(64, 2)
    C = bench.size(64, 3)
    H = bench.size(56, 6)
    K = bench.size(128, 5)
    x = (N, C, H, H)
    w = (K, C, 3, 3)
    y = (N, K, H, H)
    pixels = N * H * H
    kinds = {  # row: cuDNN's function; shapes of inputs and output; M, N, K of the product
        "forward": (partial(F.conv2d, padding=1), (x, w, (K,)), y, (K, pixels, 9 * C)),
        "dx": (lambda y, w: conv2d_input(x, w, y, padding=1), (y, w), x, (C, pixels, 9 * K)),
        "dw": (lambda y, x: conv2d_weight(x, w, y, padding=1), (y, x), w, (K, 9 * C, pixels)),
    }
    function, shapes, out, (m, n, k) = kinds[row]
    plan = getattr(implicit_gemm, f"plan_conv2d_{row}")(x, w, stride=1, padding=1)
    limits = dict.fromkeys(("ours", "cuDNN"), 1e-3)  # dw is a sum of 200,000 terms
    sides = {"ours": ours(plan, view=torch.flatten, zero=row == "dw"), "cuDNN": theirs(function)}
    task = Task(row, normal(*shapes), (out,), sides, lambda *i: (function(*i),), limits)
    times = measure(task, bench.device)
    sides = {"ours": ours(plan_matmul(m, n), m, n, k)}
    inputs = normal((m, k), (k, n))
    task = Task(f"matmul of {row}", inputs, ((m, n),), sides, lambda a, b: (a @ b,), limits)
    times["tuned matmul"] = measure(task, bench.device)["ours"]
    return 100 * ratio(times, "tuned matmul"), beside(times, 2 * m * n * k)


def eager(x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Bias, ReLU and pooling as PyTorch runs them: one kernel each."""
    return F.max_pool2d(F.relu(x + b.view(1, -1, 1, 1)), 2)


def fusion(bench: Bench, row: str) -> Result:
    N = bench.size(256, 2)
    C = bench.size(64, 3)
    H = bench.size(56, 6)
    shape = (N, C, H, H)
    pooled = (N, C, H // 2, H // 2)
    plan = plan_bias_relu_pool(shape).forward
    sides = {"ours": ours(plan, view=torch.flatten), "PyTorch": theirs(eager)}
    task = Task(row, steps(shape, (C,)), (pooled,), sides, lambda x, b: (eager(x, b),))
    times = measure(task, bench.device)
    return ratio(times, "PyTorch"), beside(times)


def both_ways(layer: Callable) -> Prepare:
    """The side that runs a layer and its backward; inputs end in the gradient of the output."""

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], Tensors]:
        *leaves, dy = (t.detach() for t in inputs)
        floats = [t.requires_grad_() for t in leaves if t.is_floating_point()]

        def run() -> Tensors:
            y = layer(*leaves)
            return y.detach(), *torch.autograd.grad(y, floats, dy)

        return run

    return prepare


def layers(bench: Bench, row: str) -> Result:
    N = bench.size(256, 2)
    H = bench.size(32, 4)
    half = H // 2
    D = 64 * (H // 4) ** 2  # 4096 in the ConvNet
    conv = partial(autograd.conv2d, padding=1), partial(F.conv2d, padding=1)
    linear = autograd.linear, F.linear
    pool = autograd.bias_relu_pool, eager
    relu = autograd.relu, F.relu
    loss = autograd.cross_entropy, F.cross_entropy
    kinds = {  # row: our function and PyTorch's, shapes of the inputs, shape of the output
        "conv1": (conv, ((N, 3, H, H), (32, 3, 3, 3), (32,)), (N, 32, H, H)),
        "conv2": (conv, ((N, 32, half, half), (64, 32, 3, 3), (64,)), (N, 64, half, half)),
        "bias + ReLU + pool": (pool, ((N, 32, H, H), (32,)), (N, 32, half, half)),
        "fc1": (linear, ((N, D), (128, D), (128,)), (N, 128)),
        "ReLU": (relu, ((N, 128),), (N, 128)),
        "fc2": (linear, ((N, 128), (10, 128), (10,)), (N, 10)),
        "cross entropy": (loss, ((N, 10),), ()),
    }
    (our, their), shapes, out = kinds[row]

    def loss_inputs(g: torch.Generator) -> Tensors:
        (logits,) = steps((N, 10))(g)
        classes = labels(N, g)
        (dloss,) = steps(())(g)
        return logits, classes, dloss

    inputs = loss_inputs if row == "cross entropy" else steps(*shapes, out)
    sides = {"ours": both_ways(our), "PyTorch": both_ways(their)}
    limits = dict.fromkeys(sides, 1e-3)  # dw of conv1 is a sum of 262,144 terms
    task = Task(row, inputs, (), sides, lambda *i: both_ways(their)(i, ())(), limits)
    times = measure(task, bench.device)
    return ratio(times, "PyTorch"), beside(times)


def trainer(
    model: Any, library: tuple, on: str, low: torch.dtype | None = None, backend: str = ""
) -> Prepare:
    """The side that takes a training step, and returns its loss and gradients.

    The learning rate is 0: all the work of a step, but the weights stay, so that the gradients of
    every step can be checked. `low`: the format of autocast; in float16 the loss is scaled, by no
    more than keeps this network's gradients finite from the first step on.
    """
    loss, SGD = library
    update = SGD(model.parameters(), lr=0.0, momentum=0.9)
    scaler = torch.amp.GradScaler(on, init_scale=2.0**10, enabled=low is torch.float16)
    forward = torch.compile(model, backend=backend) if backend else model

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], Tensors]:
        def step() -> Tensors:
            update.zero_grad()
            with torch.autocast(on, low, enabled=low is not None):
                value = loss(forward(inputs[0]), inputs[1])
            scaler.scale(value).backward()
            scaler.step(update)  # divides the gradients again
            scaler.update()
            return value.detach(), *(p.grad for p in model.parameters())

        return step

    return prepare


def training(bench: Bench, row: str) -> Result:
    N = bench.size(256, 1)
    on = bench.device.torch_device
    weights = convnet.init(0)

    def model() -> torch.nn.Module:
        return convnet.torch_model(weights).to(on)

    def reference(x: torch.Tensor, y: torch.Tensor) -> Tensors:
        exact = model().double()
        loss = F.cross_entropy(exact(x), y)
        return loss.detach(), *torch.autograd.grad(loss, [*exact.parameters()])

    our = autograd.cross_entropy, autograd.SGD
    their = F.cross_entropy, torch.optim.SGD
    other = row.removeprefix("our kernels beside ")
    low = sixteen_bits(on)
    how = {
        "PyTorch": {},
        "16-bit autocast": {"low": low},
        "torch.compile": {"backend": "eager" if bench.dry else "inductor"},
    }
    sides = {"ours": trainer(autograd.ConvNet(weights).to(on), our, on)}
    sides[other] = trainer(model(), their, on, **how[other])

    def images(g: torch.Generator) -> Tensors:
        (x,) = normal((N, 3, 32, 32))(g)
        return x, labels(N, g)

    limits = dict.fromkeys(sides, 0.1) | {"16-bit autocast": 2.0}  # near 0, ReLUs may differ
    task = Task(row, images, (), sides, reference, limits, hide=False)
    times = measure(task, bench.device)
    detail = beside(times, N, "images/s")
    if "16-bit" in other:
        detail += f"; in {str(low).removeprefix('torch.')}"
    return ratio(times, other), detail


SECTIONS = {
    "matmul": matmul,
    "tensor cores": tensor_cores,
    "memory": memory,
    "implicit GEMM": implicit,
    "fusion": fusion,
    "layers": layers,
    "training": training,
    "Nsight Compute": nsight.compare,
}
