"""What fits what: arguments of the layers, read as float64 or refused in a sentence.

Every refusal is a ValueError that names the layer, both shapes and the rule. The first argument of
each function here is the name of the layer that asks.
"""

import numpy as np


def show(name: str, a: np.ndarray) -> str:
    """An array's name with its shape: 'x[2,3,8,8]'."""
    return f"{name}[{','.join(map(str, a.shape))}]"


def read(layer: str, **arrays: tuple[np.ndarray, str]) -> list[np.ndarray]:
    """Arrays as float64; each comes with the letters of its axes: x=(x, "N,C,H,W")."""
    return [_read_one(layer, name, a, axes) for name, (a, axes) in arrays.items()]


def _read_one(layer: str, name: str, a: np.ndarray, axes: str) -> np.ndarray:
    a = np.asarray(a)
    if a.dtype.kind not in "buif":
        raise ValueError(f"{layer}: {show(name, a)} holds {a.dtype}; it must hold real numbers.")
    if a.ndim != len(axes.split(",")):
        raise ValueError(f"{layer}: {show(name, a)} has {a.ndim} axes; {name}[{axes}] is expected.")
    if a.size == 0:
        raise ValueError(f"{layer}: {show(name, a)} is empty: every axis must be 1 or longer.")
    return a.astype(np.float64)


def read_labels(
    layer: str, logits: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """logits[N,K] as float64 and labels[N] as integers from 0 to K-1."""
    (logits,) = read(layer, logits=(logits, "N,K"))
    labels = np.asarray(labels)
    if labels.shape != logits.shape[:1]:
        raise ValueError(
            f"{layer}: {show('logits', logits)} and {show('labels', labels)} do not fit: labels "
            "has one axis, as long as the first axis of logits."
        )
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{layer}: {show('labels', labels)} holds {labels.dtype}; use integers.")
    classes = logits.shape[1]
    wrong = np.flatnonzero((labels < 0) | (labels >= classes))
    if wrong.size:
        raise ValueError(
            f"{layer}: labels[{wrong[0]}] is {labels[wrong[0]]} but {show('logits', logits)} has "
            f"{classes} classes: a label lies between 0 and {classes - 1}."
        )
    return logits, labels


def fit_linear(layer: str, x: np.ndarray, w: np.ndarray) -> None:
    """x[N,D] and w[K,D] share D."""
    if x.shape[1] != w.shape[1]:
        raise ValueError(
            f"{layer}: {show('x', x)} has {x.shape[1]} features but {show('w', w)} expects "
            f"{w.shape[1]}: the second axis of both must be equal."
        )


def fit_conv(
    layer: str, x: np.ndarray, w: np.ndarray, stride: int, padding: int
) -> tuple[int, int, int, int]:
    """x[N,C,H,W] and w[K,C,R,S] share C and the kernel fits; returns the output's (N, K, P, Q)."""
    _whole(layer, "stride", stride, at_least=1)
    _whole(layer, "padding", padding, at_least=0)
    if x.shape[1] != w.shape[1]:
        raise ValueError(
            f"{layer}: {show('x', x)} has {x.shape[1]} channels but {show('w', w)} expects "
            f"{w.shape[1]}: the second axis of both must be equal."
        )
    room = [x.shape[axis] + 2 * padding - w.shape[axis] for axis in (2, 3)]
    if min(room) < 0:
        raise ValueError(
            f"{layer}: the kernel of {show('w', w)} does not fit into {show('x', x)} with padding "
            f"{padding}: it must not be larger than the padded image."
        )
    return x.shape[0], w.shape[0], room[0] // stride + 1, room[1] // stride + 1


def fit_pool(layer: str, x: np.ndarray, size: int, stride: int | None) -> tuple[int, int, int]:
    """A size x size window fits into x[N,C,H,W]; returns the stride and the output's P and Q."""
    stride = size if stride is None else stride
    _whole(layer, "size", size, at_least=1)
    _whole(layer, "stride", stride, at_least=1)
    if min(x.shape[2:]) < size:
        raise ValueError(
            f"{layer}: the window [{size},{size}] does not fit into {show('x', x)}: it must not be "
            "larger than the image."
        )
    return stride, *((length - size) // stride + 1 for length in x.shape[2:])


def fit_bias(layer: str, b: np.ndarray, w: np.ndarray) -> np.ndarray:
    """b[K] as float64, one entry for each row of w[K,...]."""
    b = np.asarray(b, dtype=np.float64)
    if b.shape != w.shape[:1]:
        raise ValueError(
            f"{layer}: {show('b', b)} and {show('w', w)} do not fit: b has one axis, as long as "
            "the first axis of w."
        )
    return b


def fit_output(layer: str, dy: np.ndarray, shape: tuple[int, ...]) -> None:
    """dy has the shape of the layer's output."""
    if dy.shape != tuple(shape):
        raise ValueError(
            f"{layer}: {show('dy', dy)} but the layer's output is [{','.join(map(str, shape))}]: "
            "both must be equal."
        )


def _whole(layer: str, name: str, value: int, at_least: int) -> None:
    """An integer of at least `at_least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < at_least:
        raise ValueError(f"{layer}: {name} is {value!r}; it must be an integer >= {at_least}.")
