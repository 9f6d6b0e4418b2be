"""labkit.reference against PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from labkit import reference as ref

small = st.integers(1, 4)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def with_grad(*arrays: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(a, requires_grad=True) for a in arrays]


def assert_grads(got: tuple, tensors: list[torch.Tensor]) -> None:
    for g, t in zip(got, tensors, strict=True):
        assert g.shape == tuple(t.shape)
        np.testing.assert_allclose(g, t.grad.numpy(), rtol=1e-9, atol=1e-9)


@settings(max_examples=40)
@given(n=small, d=st.integers(1, 7), k=small, seed=st.integers(0, 9))
def test_linear_is_torch_linear(n, d, k, seed):
    x, w, b, dy = normal(seed, n, d), normal(seed + 1, k, d), normal(2, k), normal(3, n, k)
    tensors = with_grad(x, w, b)
    y = F.linear(*tensors)
    y.backward(torch.tensor(dy))
    np.testing.assert_allclose(ref.linear(x, w, b), y.detach())
    assert_grads(ref.linear_backward(dy, x, w), tensors)


@settings(max_examples=60)
@given(
    n=st.integers(1, 3),
    c=st.integers(1, 3),
    k=small,
    kernel=st.tuples(small, small),
    extra=st.tuples(st.integers(0, 5), st.integers(0, 5)),
    stride=st.integers(1, 3),
    padding=st.integers(0, 2),
    seed=st.integers(0, 9),
)
def test_conv2d_is_torch_conv2d(n, c, k, kernel, extra, stride, padding, seed):
    height, width = (max(1, r - 2 * padding) + e for r, e in zip(kernel, extra, strict=True))
    x, w, b = normal(seed, n, c, height, width), normal(seed + 1, k, c, *kernel), normal(2, k)
    tensors = with_grad(x, w, b)
    y = F.conv2d(*tensors, stride=stride, padding=padding)
    dy = normal(3, *y.shape)
    y.backward(torch.tensor(dy))
    np.testing.assert_allclose(
        ref.conv2d(x, w, b, stride, padding), y.detach(), rtol=1e-9, atol=1e-9
    )
    assert_grads(ref.conv2d_backward(dy, x, w, stride, padding), tensors)


@settings(max_examples=60)
@given(
    extra=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    size=st.integers(1, 3),
    stride=st.none() | st.integers(1, 4),
    ties=st.booleans(),
    seed=st.integers(0, 9),
)
def test_maxpool2d_is_torch_max_pool2d(extra, size, stride, ties, seed):
    x = normal(seed, 2, 3, size + extra[0], size + extra[1])
    x = np.round(x) if ties else x  # rounding makes most windows hold their maximum twice
    (t,) = with_grad(x)
    y = F.max_pool2d(t, size, stride)
    dy = normal(1, *y.shape)
    y.backward(torch.tensor(dy))
    np.testing.assert_array_equal(ref.maxpool2d(x, size, stride), y.detach())
    assert_grads((ref.maxpool2d_backward(dy, x, size, stride),), [t])


def test_maxpool2d_gives_a_tie_to_the_first_in_row_major_order():
    x = np.array([[5.0, 1.0], [5.0, 5.0]])[None, None]
    dx = ref.maxpool2d_backward(np.full((1, 1, 1, 1), 7.0), x)
    np.testing.assert_array_equal(dx[0, 0], [[7, 0], [0, 0]])


def test_relu_and_its_gradient_at_zero():
    x, dy = np.array([-2.0, -0.0, 0.0, 3.0]), np.array([np.inf, 5.0, 6.0, 7.0])
    (t,) = with_grad(x)
    torch.relu(t).backward(torch.tensor(dy))
    np.testing.assert_array_equal(ref.relu(x), [0, 0, 0, 3])
    np.testing.assert_array_equal(ref.relu_backward(dy, x), [0, 0, 0, 7])
    np.testing.assert_array_equal(ref.relu_backward(dy, x), t.grad)


@settings(max_examples=40)
@given(
    n=small, k=st.integers(1, 6), scale=st.sampled_from([1.0, 30.0, 1e4]), seed=st.integers(0, 9)
)
def test_softmax_cross_entropy_is_torch_cross_entropy(n, k, scale, seed):
    logits = scale * normal(seed, n, k)
    labels = np.random.default_rng(seed).integers(0, k, n)
    (t,) = with_grad(logits)
    loss = F.cross_entropy(t, torch.tensor(labels))
    loss.backward()
    assert ref.softmax_cross_entropy(logits, labels) == pytest.approx(loss.item(), rel=1e-9)
    assert_grads((ref.softmax_cross_entropy_backward(logits, labels),), [t])


def test_softmax_cross_entropy_survives_huge_logits():
    logits, labels = np.array([[1e300, -1e300, 0.0], [-1e300, 1e300, 1e300]]), np.array([0, 1])
    assert ref.softmax_cross_entropy(logits, labels) == pytest.approx(np.log(2) / 2)
    gradient = ref.softmax_cross_entropy_backward(logits, labels)
    np.testing.assert_allclose(gradient, [[0, 0, 0], [0, -0.25, 0.25]])


def test_sgd_is_torch_sgd_over_three_steps():
    start = {"w": normal(0, 3, 2), "b": normal(1, 3)}
    tensors = {name: torch.tensor(p, requires_grad=True) for name, p in start.items()}
    optimizer = torch.optim.SGD(tensors.values(), lr=0.1, momentum=0.8)
    parameters, velocities = start, None
    for step in range(3):
        gradients = {name: normal(step, *p.shape) for name, p in start.items()}
        for name, t in tensors.items():
            t.grad = torch.tensor(gradients[name])
        optimizer.step()
        parameters, velocities = ref.sgd(parameters, gradients, velocities, 0.1, 0.8)
    for name, t in tensors.items():
        np.testing.assert_allclose(parameters[name], t.detach())
    assert parameters["w"] is not start["w"]


def test_sgd_takes_lists_as_well():
    (p,), (v,) = ref.sgd([np.ones(2)], [np.ones(2)], [np.ones(2)], lr=0.5, momentum=0.5)
    np.testing.assert_allclose(v, [1.5, 1.5])
    np.testing.assert_allclose(p, [0.25, 0.25])


def test_nothing_is_mutated_and_everything_is_float64():
    x, w, dy = (normal(i, 2, 2, 4, 4).astype(np.float32) for i in range(3))
    before = [a.copy() for a in (x, w, dy)]
    results = [ref.conv2d(x, w, padding=1), ref.maxpool2d(x), ref.relu(x), ref.relu_backward(dy, x)]
    results += ref.conv2d_backward(dy[:, :, :1, :1], x, w)
    assert {a.dtype for a in results} == {np.dtype(np.float64)}
    for a, b in zip((x, w, dy), before, strict=True):
        np.testing.assert_array_equal(a, b)
