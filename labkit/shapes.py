"""What fits what: the layers' arguments, read as float64 or refused in a sentence.

Every refusal is a ValueError that names the layer that asks, both shapes and the rule.
"""

import numpy as np


def fit(layer: str, axes: str, *arrays: np.ndarray | None) -> list[np.ndarray | None]:
    """The arrays as float64, when a letter means the same size in all of them; None stays None.

    x, w, b = fit("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]", x, w, b)
    """
    read, first = [], {}
    for wanted, a in zip(axes.split(), arrays, strict=True):
        if a is None:
            read.append(None)
            continue
        name, _ = wanted.split("[")
        read.append(a := _real(layer, name, a))
        fit_axes(layer, wanted, a, first)
        if a.size == 0:
            raise ValueError(f"{layer}: {show(name, a)} is empty: every axis must be 1 or longer.")
    return read


def fit_axes(layer: str, wanted: str, a: np.ndarray, first: dict[str, tuple]) -> None:
    """Refuses an array, or a tensor, whose axes are not those `wanted`, such as "x[N,D]".

    `first` remembers for each letter its size, and the array in which it stood first.
    """
    name, letters = wanted.rstrip("]").split("[")
    if a.ndim != len(letters.split(",")):
        raise ValueError(f"{layer}: {show(name, a)} has {a.ndim} axes; {wanted} is expected.")
    for letter, size in zip(letters.split(","), a.shape, strict=True):
        size0, array0, axes0 = first.setdefault(letter, (size, show(name, a), wanted))
        if size != size0:
            both = f"{array0} and {show(name, a)} do not fit"
            sizes = f"{letter} is {size0} in {axes0} but {size} in {wanted}"
            raise ValueError(f"{layer}: {both}: {sizes}, and both must be equal.")


def fit_windows(
    layer: str, x: np.ndarray, kernel: tuple[int, int], stride: int, padding: int = 0
) -> tuple[int, int]:
    """How many windows fit down and across x[N,C,H,W]: (H + 2 padding - R) // stride + 1, ..."""
    fit_integer(layer, "stride", stride, at_least=1)
    fit_integer(layer, "padding", padding, at_least=0)
    room = [size + 2 * padding - k for size, k in zip(x.shape[2:], kernel, strict=True)]
    if min(room) < 0:
        raise ValueError(
            f"{layer}: the window [{kernel[0]},{kernel[1]}] does not fit into {show('x', x)} with "
            f"padding {padding}: it must not be larger than the padded image."
        )
    return room[0] // stride + 1, room[1] // stride + 1


def fit_output(layer: str, dy: np.ndarray, y_shape: tuple[int, ...]) -> np.ndarray:
    """dy as float64, when it has the shape of the layer's output."""
    dy = _real(layer, "dy", dy)
    if dy.shape != y_shape:
        both = f"{show('dy', dy)} but the layer's output is {list(y_shape)}".replace(", ", ",")
        raise ValueError(f"{layer}: {both}: both must be equal.")
    return dy


def fit_labels(layer: str, logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """logits[N,K] as float64, and labels[N] when these are integers from 0 to K-1."""
    logits, _ = fit(layer, "logits[N,K] labels[N]", logits, labels)
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise ValueError(f"{layer}: {show('labels', labels)} holds {labels.dtype}; use integers.")
    classes = logits.shape[1]
    for n in np.flatnonzero((labels < 0) | (labels >= classes))[:1]:
        has = f"labels[{n}] is {labels[n]} but {show('logits', logits)} has {classes} classes"
        raise ValueError(f"{layer}: {has}: a label lies between 0 and {classes - 1}.")
    return logits, labels


def fit_update(layer: str, parameters: dict, gradients: dict, velocities: dict) -> None:
    """Every parameter has a gradient and a velocity of its name and shape."""
    for what, named in (("gradients", gradients), ("velocities", velocities)):
        if set(named) != set(parameters):
            both = f"{what} are named {sorted(named)} but parameters {sorted(parameters)}"
            raise ValueError(f"{layer}: {both}: there must be one for each.")
    for name in parameters:
        p, g, v = map(np.shape, (parameters[name], gradients[name], velocities[name]))
        if not p == g == v:
            three = f"shape {p} but its gradient {g} and its velocity {v}"
            raise ValueError(f"{layer}: parameter {name!r} has {three}: all must be equal.")


def fit_integer(
    layer: str, name: str, value: int, at_least: int, at_most: int | None = None
) -> None:
    """An integer from `at_least`, up to `at_most`; True and False are none."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < at_least or (at_most is not None and value > at_most):
        limits = f">= {at_least}" + (f" and <= {at_most}" if at_most is not None else "")
        raise ValueError(f"{layer}: {name} is {value!r}; it must be an integer {limits}.")


def show(name: str, a: np.ndarray) -> str:
    """An array's name with its shape: 'x[2,3,8,8]'."""
    return f"{name}[{','.join(map(str, a.shape))}]"


def _real(layer: str, name: str, a: np.ndarray) -> np.ndarray:
    """Real numbers as float64, in an array of their own."""
    a = np.asarray(a)
    if a.dtype.kind not in "buif":
        raise ValueError(f"{layer}: {show(name, a)} holds {a.dtype}; it must hold real numbers.")
    return a.astype(np.float64)
