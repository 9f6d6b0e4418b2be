"""labkit.gradcheck: right gradients pass, the worst entry of a wrong one is named."""

import numpy as np
import pytest

from labkit import reference as ref
from labkit.reference import gradcheck


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def test_gradcheck_passes_every_backward():
    x, w, b = normal(0, 2, 2, 5, 4), normal(1, 3, 2, 3, 2), normal(2, 3)
    dy = normal(3, 2, 3, 3, 3)
    grads = ref.conv2d_backward(dy, x, w, 2, 1)
    assert gradcheck(lambda x, w, b: ref.conv2d(x, w, b, 2, 1), (x, w, b), grads, dy)
    dy = normal(4, 2, 2, 2, 2)
    assert gradcheck(ref.maxpool2d, [x], [ref.maxpool2d_backward(dy, x)], dy)
    labels = np.array([2, 0])
    loss = lambda logits: ref.softmax_cross_entropy(logits, labels)  # noqa: E731
    logits = normal(5, 2, 3)
    assert gradcheck(loss, [logits], [ref.softmax_cross_entropy_backward(logits, labels)])


@pytest.mark.parametrize("wrong", [1e-3, np.nan, np.inf])
def test_gradcheck_names_the_worst_index(wrong):
    x, w, dy = normal(0, 2, 3), normal(1, 4, 3), normal(2, 2, 4)
    dx, dw, _ = ref.linear_backward(dy, x, w)
    dw[3, 1] += wrong
    result = gradcheck(ref.linear, (x, w), (dx, dw), dy)
    assert not result
    assert (result.worst_input, result.worst_index) == (1, (3, 1))
    assert "input 1 at index (3, 1)" in str(result) and "wrong" in str(result)
    assert result.error == pytest.approx(wrong, rel=1e-3, nan_ok=True)


def test_gradcheck_is_not_fooled_by_a_function_that_returns_nan():
    assert not gradcheck(lambda x: x * np.nan, [np.ones(2)], [np.ones(2)])


def test_gradcheck_takes_numbers_and_hands_out_copies():
    def spoils_its_input(x):
        y = x**2
        x += 100
        return y

    x = np.array(3.0)
    result = gradcheck(spoils_its_input, [x], [6.0])
    assert result and x == 3.0 and result.worst_index == ()
    assert not gradcheck(spoils_its_input, [x], [6.1])


def test_gradcheck_leaves_out_inputs_without_gradient():
    result = gradcheck(lambda x, y: x * y, (np.ones(2), np.ones(2)), (np.ones(2), None))
    assert result and result.entries == 2


def test_gradcheck_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match=r"shape \(2,\) but its gradient has \(3,\)"):
        gradcheck(lambda x: x, [np.ones(2)], [np.ones(3)])
    with pytest.raises(ValueError, match="2 inputs but 1 gradients"):
        gradcheck(lambda x, y: x, [np.ones(2), np.ones(2)], [np.ones(2)])
    with pytest.raises(ValueError, match=r"returned shape \(2,\) but dy has \(1,\)"):
        gradcheck(lambda x: x, [np.ones(2)], [np.ones(2)], dy=np.ones(1))
    with pytest.raises(ValueError, match="float32"):
        gradcheck(lambda x: x.astype(np.float32), [np.ones(2)], [np.ones(2)])
