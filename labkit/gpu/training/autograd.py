"""PyTorch layers whose forward and backward are the kernels of `labkit.gpu.kernels`.

PyTorch keeps the tape and calls the backwards in their order; every number is computed in a kernel
of ours. Tensors are float32 and contiguous, on the GPU if kernels run there, else on the CPU; what
does not fit is refused in a sentence (`labkit.gpu.training.tensors`). Letters of shapes and oracle:
`labkit.reference`. `layer` is the name under which launches are counted: "conv1" for the forward
kernel, "conv1 dx", "conv1 dw" and "conv1 db" for the backward ones.
(Lesson a_training_step_on_the_gpu.)
"""

from collections.abc import Callable

import numpy as np
import torch
from torch.autograd.function import Function, once_differentiable

from labkit.convnet import torch_model
from labkit.gpu.kernels import Plan, implicit_gemm, pooling
from labkit.gpu.kernels.direct_convolution import output_shape
from labkit.gpu.kernels.linear import plan_linear, plan_linear_dw, plan_linear_dx
from labkit.gpu.kernels.pointwise import plan_relu, plan_relu_backward
from labkit.gpu.kernels.reductions import plan_column_sum, plan_row_sum
from labkit.gpu.kernels.softmax import plan_cross_entropy, plan_cross_entropy_backward
from labkit.gpu.training.sgd import SGD
from labkit.gpu.training.tensors import fit, flat, launch, ready
from labkit.shapes import fit_labels

__all__ = [
    "SGD",
    "ConvNet",
    "bias_relu_pool",
    "conv2d",
    "cross_entropy",
    "linear",
    "max_pool2d",
    "relu",
]

Tensor = torch.Tensor
Bias = Tensor | None


class _Layer(Function):
    """A layer on PyTorch's tape.

    forward(*inputs) gives y and the tensors that the backward needs; backward(asked, dy, *tensors)
    a gradient for each input, None where `asked` says that nobody wants it.
    """

    @staticmethod
    def forward(ctx, forward, backward, *inputs):
        y, *kept = forward(*inputs)
        ctx.gradients = backward
        ctx.save_for_backward(*kept)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, dy):
        asked = ctx.needs_input_grad[2:]
        kept = ctx.saved_tensors
        gradients = ctx.gradients(asked, ready(dy), *kept)
        return None, None, *gradients  # `forward` and `backward` have none


def _each(*gradients: Callable) -> Callable:
    """A backward from a function of (dy, *tensors) for each of the first inputs."""

    def backward(asked, dy, *kept):
        found = []
        for gradient, wanted in zip(gradients, asked, strict=True):
            if wanted:
                found.append(gradient(dy, *kept))
            else:
                found.append(None)
        return found

    return backward


def _flat(plan: Plan, *tensors: Tensor, layer: str) -> Tensor:
    """A launch of a kernel that takes its arrays with one axis; gives the last one, its output."""
    views = [flat(tensor) for tensor in tensors]
    launch(plan, *views, layer=layer)
    return tensors[-1]


def _or_zeros(b: Bias, w: Tensor) -> Tensor:
    """The bias b[K], or zeros in its place for weights w[K, ...]."""
    if b is None:
        return w.new_zeros(len(w))
    return b


def linear(x: Tensor, w: Tensor, b: Bias = None, layer: str = "") -> Tensor:
    """y[n,k] = b[k] + sum_d x[n,d] w[k,d]:  x[N,D], w[K,D], b[K] -> y[N,K]"""
    fit("linear", "x[N,D] w[K,D] b[K]?", x, w, b)
    N, D = x.shape
    K = len(w)

    def forward(x, w, b):
        plan = plan_linear(N, K, D)
        bias = _or_zeros(b, w)
        y = x.new_empty(N, K)
        launch(plan, x, w, bias, y, N, K, D, layer=layer)
        return y, x, w

    def dx(dy, x, w):
        plan = plan_linear_dx(N, D, K)
        out = torch.empty_like(x)
        return launch(plan, dy, w, out, N, D, K, layer=f"{layer} dx")

    def dw(dy, x, w):
        plan = plan_linear_dw(K, D, N)
        out = torch.empty_like(w)
        return launch(plan, dy, x, out, K, D, N, layer=f"{layer} dw")

    def db(dy, x, w):
        plan = plan_column_sum(N, K)
        out = dy.new_empty(K)
        return launch(plan, dy, out, layer=f"{layer} db")

    backward = _each(dx, dw, db)
    return _Layer.apply(forward, backward, x, w, b)


def conv2d(
    x: Tensor, w: Tensor, b: Bias = None, stride: int = 1, padding: int = 0, layer: str = ""
) -> Tensor:
    """Cross-correlation as implicit GEMM:  x[N,C,H,W], w[K,C,R,S], b[K] -> y[N,K,P,Q]"""
    fit("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]?", x, w, b)
    x_shape = tuple(x.shape)
    w_shape = tuple(w.shape)
    geometry = (x_shape, w_shape, stride, padding)
    N, K, P, Q = output_shape(*geometry)

    def forward(x, w, b):
        plan = implicit_gemm.plan_conv2d_forward(*geometry)
        bias = _or_zeros(b, w)
        out = x.new_empty(N, K, P, Q)
        y = _flat(plan, x, w, bias, out, layer=layer)
        return y, x, w

    def dx(dy, x, w):
        plan = implicit_gemm.plan_conv2d_dx(*geometry)
        out = torch.empty_like(x)
        return _flat(plan, dy, w, out, layer=f"{layer} dx")

    def dw(dy, x, w):
        plan = implicit_gemm.plan_conv2d_dw(*geometry)
        out = torch.zeros_like(w)  # the kernel adds to it
        return _flat(plan, dy, x, out, layer=f"{layer} dw")

    def db(dy, x, w):
        maps = N * K  # of P Q numbers each
        pixels = P * Q
        rows = dy.view(maps, pixels)
        sums = dy.new_empty(maps)
        plan = plan_row_sum(maps, pixels)
        launch(plan, rows, sums, layer=f"{layer} db")
        of_image = sums.view(N, K)
        out = dy.new_empty(K)
        plan = plan_column_sum(N, K)
        return launch(plan, of_image, out, layer=f"{layer} db")

    backward = _each(dx, dw, db)
    return _Layer.apply(forward, backward, x, w, b)


def relu(x: Tensor, layer: str = "") -> Tensor:
    """y = max(x, 0), any shape"""
    fit("relu", "x", x)

    def forward(x):
        plan = plan_relu(x.numel())
        out = torch.empty_like(x)
        y = _flat(plan, x, out, layer=layer)
        return y, y

    def dx(dy, y):
        plan = plan_relu_backward(y.numel())
        out = torch.empty_like(y)
        return _flat(plan, dy, y, out, layer=f"{layer} dx")

    backward = _each(dx)
    return _Layer.apply(forward, backward, x)


def max_pool2d(x: Tensor, size: int = 2, stride: int | None = None, layer: str = "") -> Tensor:
    """The largest value of each size x size window:  x[N,C,H,W] -> y[N,C,P,Q]"""
    fit("max_pool2d", "x[N,C,H,W]", x)
    if stride is None:
        stride = size
    geometry = (tuple(x.shape), size, stride)

    def forward(x):
        plan = pooling.plan_maxpool2d(*geometry)
        shape = pooling.outputs(*geometry)
        out = x.new_empty(shape)
        y = launch(plan, x, out, layer=layer)
        return y, x

    def dx(dy, x):
        plan = pooling.plan_maxpool2d_backward(*geometry)
        out = torch.empty_like(x)
        return launch(plan, dy, x, out, layer=f"{layer} dx")

    backward = _each(dx)
    return _Layer.apply(forward, backward, x)


def bias_relu_pool(x: Tensor, b: Tensor, layer: str = "") -> Tensor:
    """max_pool2d(relu(x + b), 2) in one pass over memory:  x[N,K,H,W], b[K] -> y[N,K,P,Q]"""
    fit("bias_relu_pool", "x[N,K,H,W] b[K]", x, b)
    fused = pooling.plan_bias_relu_pool(tuple(x.shape))

    def forward(x, b):
        shape = pooling.outputs(x.shape, 2, 2)
        out = x.new_empty(shape)
        y = _flat(fused.forward, x, b, out, layer=layer)
        return y, x, b

    def backward(asked, dy, x, b):
        dx = torch.empty_like(x)
        db = torch.zeros_like(b)
        _flat(fused.backward, dy, x, b, dx, db, layer=f"{layer} dx")
        return dx, db

    return _Layer.apply(forward, backward, x, b)


def cross_entropy(logits: Tensor, labels: Tensor, layer: str = "loss") -> Tensor:
    """Mean of -log softmax(logits)[n, labels[n]]:  logits[N,K], integer labels[N] -> loss[]

    A label that is no class is refused on the SIMT machine; on a GPU, where the host would have
    to wait for the answer, it makes the loss NaN.
    """
    fit("cross_entropy", "logits[N,K] labels[N]", logits, labels)
    if labels.device.type == "cpu":
        scores = logits.detach().numpy()
        classes = labels.numpy()
        fit_labels("cross_entropy", scores, classes)
    N, K = logits.shape

    def forward(logits, labels):
        losses = logits.new_empty(N)
        loss = logits.new_empty(())
        plan = plan_cross_entropy(N, K)
        launch(plan, logits, labels, losses, layer=layer)
        row = losses.view(1, N)
        plan = plan_row_sum(1, N)
        launch(plan, row, loss.view(1), layer=layer)
        return loss, logits, labels

    def dlogits(dloss, logits, labels):
        plan = plan_cross_entropy_backward(N, K)
        factor = dloss.view(1)
        out = torch.empty_like(logits)
        return launch(plan, factor, logits, labels, out, layer=f"{layer} dx")

    def backward(asked, *rest):
        return dlogits(*rest), None  # labels have no gradient

    return _Layer.apply(forward, backward, logits, labels)


class ConvNet(torch.nn.Module):
    """The network of `labkit.convnet`, computed by our kernels; weights named as there.

    Without weights PyTorch's own random ones. Bias, ReLU and pooling after a convolution are one
    kernel: its launches are counted under "pool1" and "pool2".
    """

    def __init__(self, weights: dict[str, np.ndarray] | None = None) -> None:
        super().__init__()
        model = torch_model(weights)
        for name, holder in model.named_children():
            self.add_module(name, holder)  # holds weight and bias; its forward is not used

    def forward(self, x: Tensor) -> Tensor:
        """x[N,3,32,32] -> logits[N,10]"""
        x = conv2d(x, self.conv1.weight, padding=1, layer="conv1")
        x = bias_relu_pool(x, self.conv1.bias, layer="pool1")
        x = conv2d(x, self.conv2.weight, padding=1, layer="conv2")
        x = bias_relu_pool(x, self.conv2.bias, layer="pool2")
        x = x.flatten(1)
        x = linear(x, self.fc1.weight, self.fc1.bias, layer="fc1")
        x = relu(x, layer="relu3")
        return linear(x, self.fc2.weight, self.fc2.bias, layer="fc2")
