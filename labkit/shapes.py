"""What fits what: the layers' arguments, read as float64 or refused in a sentence.

Every refusal is a ValueError that names the layer that asks, both shapes and the rule.
"""

import numpy as np

from labkit.convolutions import output_size


def fit(layer: str, axes: str, *arrays: np.ndarray | None) -> list[np.ndarray | None]:
    """Arrays as float64, when a letter means the same size in all of them; None stays None.

    x, w, b = fit("conv2d", "x[N,C,H,W] w[K,C,R,S] b[K]", x, w, b)

    Raises ValueError for an array with other axes, an empty one, and one of no real numbers.
    """
    fitting = []
    first_seen = {}
    for wanted, array in zip(axes.split(), arrays, strict=True):
        if array is None:
            fitting.append(None)
            continue
        name = wanted.partition("[")[0]
        array = _real(layer, name, array)
        fit_axes(layer, wanted, array, first_seen)
        if array.size == 0:
            raise ValueError(
                f"{layer}: {described(name, array)} is empty: every axis must be 1 or longer."
            )
        fitting.append(array)
    return fitting


def fit_axes(layer: str, wanted: str, array: np.ndarray, first_seen: dict[str, tuple]) -> None:
    """Refuses an array, or a tensor, whose axes are not those `wanted`, such as "x[N,D]".

    `first_seen` remembers for each letter its size, and the array in which it stood first. Raises
    ValueError for another number of axes, and for a letter that had another size before.
    """
    name, _, letters = wanted.removesuffix("]").partition("[")
    axes = letters.split(",")
    here = described(name, array)
    if array.ndim != len(axes):
        raise ValueError(f"{layer}: {here} has {array.ndim} axes; {wanted} is expected.")
    for letter, size in zip(axes, array.shape, strict=True):
        first_size, there, first_wanted = first_seen.setdefault(letter, (size, here, wanted))
        if size != first_size:
            raise ValueError(
                f"{layer}: {there} and {here} do not fit: {letter} is {first_size} in "
                f"{first_wanted} but {size} in {wanted}, and both must be equal."
            )


def fit_windows(
    layer: str, x: np.ndarray, kernel: tuple[int, int], stride: int, padding: int = 0
) -> tuple[int, int]:
    """P and Q: how many windows of `kernel` (R, S) fit down and across x[N,C,H,W].

    P = (H + 2 padding - R) // stride + 1, and Q likewise from W and S. Raises ValueError for a
    window larger than the padded image, a stride below 1 and a padding below 0.
    """
    fit_integer(layer, "stride", stride, at_least=1)
    fit_integer(layer, "padding", padding, at_least=0)
    H, W = x.shape[2:]
    R, S = kernel
    if H + 2 * padding < R or W + 2 * padding < S:
        raise ValueError(
            f"{layer}: the window [{R},{S}] does not fit into {described('x', x)} with "
            f"padding {padding}: it must not be larger than the padded image."
        )
    return output_size(x.shape, R, S, stride, padding)


def fit_output(layer: str, dy: np.ndarray, y_shape: tuple[int, ...]) -> np.ndarray:
    """dy as float64; raises ValueError unless it has the shape of the layer's output."""
    dy = _real(layer, "dy", dy)
    if dy.shape != y_shape:
        output = f"[{_joined(y_shape)}]"
        raise ValueError(
            f"{layer}: {described('dy', dy)} but the layer's output is {output}: both must be "
            "equal."
        )
    return dy


def fit_labels(layer: str, logits: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """logits[N,K] as float64, and labels[N]; raises ValueError unless these are integers 0..K-1."""
    logits, _ = fit(layer, "logits[N,K] labels[N]", logits, labels)
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        here = described("labels", labels)
        raise ValueError(f"{layer}: {here} holds {labels.dtype}; use integers.")
    classes = logits.shape[1]
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        n = outside[0]
        raise ValueError(
            f"{layer}: labels[{n}] is {labels[n]} but {described('logits', logits)} has "
            f"{classes} classes: a label lies between 0 and {classes - 1}."
        )
    return logits, labels


def fit_update(layer: str, parameters: dict, gradients: dict, velocities: dict) -> None:
    """Raises ValueError unless gradients and velocities have the parameters' names and shapes."""
    for what, named in (("gradients", gradients), ("velocities", velocities)):
        if set(named) != set(parameters):
            raise ValueError(
                f"{layer}: {what} are named {sorted(named)} but parameters {sorted(parameters)}: "
                "there must be one for each."
            )
    for name, parameter in parameters.items():
        shape = np.shape(parameter)
        gradient_shape = np.shape(gradients[name])
        velocity_shape = np.shape(velocities[name])
        if not shape == gradient_shape == velocity_shape:
            raise ValueError(
                f"{layer}: parameter {name!r} has shape {shape} but its gradient "
                f"{gradient_shape} and its velocity {velocity_shape}: all must be equal."
            )


def fit_integer(
    layer: str, name: str, value: int, at_least: int, at_most: int | None = None
) -> None:
    """Raises ValueError unless `value` is an integer from `at_least`, up to `at_most`.

    True and False are none.
    """
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    too_large = whole and at_most is not None and value > at_most
    if not whole or value < at_least or too_large:
        limits = f">= {at_least}"
        if at_most is not None:
            limits += f" and <= {at_most}"
        raise ValueError(f"{layer}: {name} is {value!r}; it must be an integer {limits}.")


def described(name: str, array: np.ndarray) -> str:
    """An array, or a tensor, as a sentence names it: by its name and shape, 'x[2,3,8,8]'."""
    return f"{name}[{_joined(array.shape)}]"


def _joined(shape: tuple[int, ...]) -> str:
    return ",".join(map(str, shape))


def _real(layer: str, name: str, array: np.ndarray) -> np.ndarray:
    """Real numbers as float64, in an array of their own."""
    array = np.asarray(array)
    if array.dtype.kind not in "buif":
        here = described(name, array)
        raise ValueError(f"{layer}: {here} holds {array.dtype}; it must hold real numbers.")
    return array.astype(np.float64)
