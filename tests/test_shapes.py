"""labkit.shapes: a layer refuses arguments that do not fit, in a sentence with both shapes."""

import numpy as np
import pytest

from labkit import reference as ref

X, W = np.zeros((2, 3, 8, 8)), np.zeros((4, 3, 3, 3))
REFUSED = {
    "channels": (
        lambda: ref.conv2d(X, np.zeros((4, 5, 3, 3))),
        "conv2d: x[2,3,8,8] and w[4,5,3,3] do not fit: C is 3 in x[N,C,H,W] but 5 in w[K,C,R,S], "
        "and both must be equal.",
    ),
    "stride": (lambda: ref.conv2d(X, W, stride=0), "stride is 0; it must be an integer >= 1"),
    "half a stride": (lambda: ref.conv2d(X, W, stride=1.5), "stride is 1.5"),
    "padding": (lambda: ref.conv2d(X, W, padding=-1), "padding is -1; it must be an integer >= 0"),
    "large kernel": (
        lambda: ref.conv2d(np.zeros((1, 3, 2, 9)), W),
        "the window [3,3] does not fit into x[1,3,2,9] with padding 0",
    ),
    "axes": (lambda: ref.conv2d(X[0], W), "x[3,8,8] has 3 axes; x[N,C,H,W] is expected"),
    "empty batch": (lambda: ref.conv2d(X[:0], W), "x[0,3,8,8] is empty"),
    "text": (lambda: ref.linear([["a"]], [[1.0]]), "must hold real numbers"),
    "bias": (lambda: ref.conv2d(X, W, np.zeros(5)), "w[4,3,3,3] and b[5] do not fit"),
    "conv dy": (
        lambda: ref.conv2d_backward(np.zeros((2, 4, 8, 8)), X, W),
        "dy[2,4,8,8] but the layer's output is [2,4,6,6]: both must be equal.",
    ),
    "features": (
        lambda: ref.linear(np.zeros((2, 3)), np.zeros((4, 5))),
        "x[2,3] and w[4,5] do not fit: D is 3 in x[N,D] but 5 in w[K,D]",
    ),
    "linear dy": (
        lambda: ref.linear_backward(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((4, 3))),
        "dy[2,3] and w[4,3] do not fit: K is 3 in dy[N,K] but 4 in w[K,D]",
    ),
    "window": (lambda: ref.maxpool2d(X, 9), "the window [9,9] does not fit into x[2,3,8,8]"),
    "pool size": (lambda: ref.maxpool2d(X, 0), "size is 0"),
    "pool dy": (lambda: ref.maxpool2d_backward(X, X), "dy[2,3,8,8] but the layer's output is"),
    "relu dy": (lambda: ref.relu_backward(X, W), "dy[2,3,8,8] but the layer's output is [4,3,3,3]"),
    "label": (
        lambda: ref.softmax_cross_entropy(np.zeros((2, 3)), np.array([0, 3])),
        "labels[1] is 3 but logits[2,3] has 3 classes: a label lies between 0 and 2.",
    ),
    "negative label": (
        lambda: ref.softmax_cross_entropy_backward(np.zeros((1, 3)), [-1]),
        "labels[0] is -1",
    ),
    "float labels": (
        lambda: ref.softmax_cross_entropy(np.zeros((2, 3)), np.zeros(2)),
        "labels[2] holds float64; use integers",
    ),
    "no labels": (
        lambda: ref.softmax_cross_entropy(np.zeros((2, 3)), np.zeros(3, int)),
        "logits[2,3] and labels[3] do not fit",
    ),
    "empty loss": (lambda: ref.softmax_cross_entropy(np.zeros((0, 3)), np.zeros(0, int)), "empty"),
    "sgd names": (lambda: ref.sgd({"w": X}, {"v": X}, None, 0.1), "gradients are named ['v']"),
    "sgd shapes": (lambda: ref.sgd([X], [W], None, 0.1), "shape (2, 3, 8, 8) but its gradient"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_does_not_fit_is_refused_in_a_sentence(what):
    call, sentence = REFUSED[what]
    with pytest.raises(ValueError) as refusal:
        call()
    assert sentence in str(refusal.value)
