"""The exercises of lesson sharding: what a device holds, and a layer cut over devices."""

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from labkit.checks.items import Case, Refused, Unsolved, refuse_no_function
from labkit.checks.lesson_files import LIBRARIES, by_own_name, cases_of, exercise
from labkit.provenance import Quantity, counted
from labkit_lessons.tpu.sharding.wrong import block as wrong_block
from labkit_lessons.tpu.sharding.wrong import tensor_parallel_mlp as wrong_mlp

# tpu.block: a[R, C], spec, mesh, place -> the block that the device at this place holds

PLACES = {  # shape, spec, sizes of the axes data and model, place along them
    "rows": ((6, 4), ("data", None), (2, 2), (1, 0)),
    "all sizes 1": ((1, 1), (None, None), (1, 1), (0, 0)),
    "both": ((4, 6), ("data", "model"), (2, 3), (1, 2)),
    "model first": ((6, 4), ("model", "data"), (2, 3), (1, 2)),
    "columns": ((3, 10), (None, "model"), (3, 5), (2, 3)),
    "columns by data": ((5, 9), (None, "data"), (3, 2), (2, 1)),
    "not cut": ((5, 7), (None, None), (2, 4), (1, 3)),
    "one device": ((8, 3), ("data", "model"), (1, 1), (0, 0)),
    "prime": ((7, 11), ("data", "model"), (7, 11), (5, 3)),
    "the first device": ((9, 8), ("model", None), (5, 3), (0, 0)),
    "many": ((48, 40), ("model", "data"), (4, 8), (3, 6)),
}


def numbers_at(rng: np.random.Generator, shape: tuple, spec: tuple, *by_axis: tuple) -> tuple:
    """A matrix in which no number stands twice, the mesh, and a place in it."""
    size = shape[0] * shape[1]
    a = rng.permutation(size).reshape(shape) - size / 3
    mesh, place = (dict(zip(("data", "model"), values, strict=True)) for values in by_axis)
    return a, spec, mesh, place


def own_block(a, spec, mesh, place):
    """Cut each axis of a[R, C] into equal parts, and take the one at this place."""
    for dimension, axis in enumerate(spec):
        if axis is not None:
            a = np.split(a, mesh[axis], axis=dimension)[place[axis]]
    return a


block = exercise(
    "tpu.block",
    oracle=own_block,
    cases=cases_of(PLACES, numbers_at),
    wrong=by_own_name(
        wrong_block.whole,
        wrong_block.dimensions_swapped,
        wrong_block.in_the_order_of_the_mesh,
        wrong_block.cut_by_all_axes,
        wrong_block.rows_alone,
        wrong_block.columns_alone,
        wrong_block.first_part,
        wrong_block.last_part,
        wrong_block.place_of_the_other_axis,
        wrong_block.every_other,
        wrong_block.place_as_start,
        wrong_block.parts_as_size,
        wrong_block.one_number_short,
        wrong_block.from_the_end,
        wrong_block.two_parts,
    ),
    outputs=("block",),
    forbidden=LIBRARIES,
    rtol=0.0,
    atol=0.0,
)

# tpu.tensor_parallel_mlp: x[B,D], w1[D,F], b1[F], w2[F,K], b2[K], devices -> y[devices,B,K]

LAYERS = {  # B, D, F, K, devices
    "two devices": (3, 4, 6, 5, 2),
    "all sizes 1": (1, 1, 1, 1, 1),
    "one device": (4, 3, 5, 2, 1),
    "three devices": (2, 5, 9, 4, 3),
    "prime": (5, 7, 11, 3, 11),
    "one unit on each": (3, 2, 5, 6, 5),
    "eight devices": (6, 8, 32, 7, 8),
}


def layers_of(rng: np.random.Generator, B: int, D: int, F: int, K: int, devices: int) -> tuple:
    """Arrays of both signs, of which the hidden layer's sums come out on both sides of 0."""
    sizes = {"x": (B, D), "w1": (D, F), "b1": (F,), "w2": (F, K), "b2": (K,)}
    arrays = [rng.normal(size=size).astype("float32") for size in sizes.values()]
    return *arrays, devices


def layers(rng: np.random.Generator) -> Iterable[Case]:
    """The only unit of the smallest case is active."""
    for case in cases_of(LAYERS, layers_of)(rng):
        if case.name == "all sizes 1":
            yield Case(case.name, (*map(np.abs, case.args[:5]), 1))
        else:
            yield case


def on_one_device(x, w1, b1, w2, b2, devices):
    """The two layers with their whole weights; each device has this result."""
    y = np.maximum(x @ w1 + b1, 0) @ w2 + b2
    return np.stack([y] * devices)


def run_on_parts(answer: Callable, x, w1, b1, w2, b2, devices) -> np.ndarray:
    """What `answer`, a body for shard_map, returns on each device of the axis "model".

    One device runs them all: `jax.vmap` with a named axis has the collectives of `shard_map`.
    Raises Refused, with a sentence, for an answer that returns nothing or writes into an array.
    """
    from jax import jit, vmap

    parts = (
        np.stack(np.split(w1, devices, axis=1)),
        np.stack(np.split(b1, devices)),
        np.stack(np.split(w2, devices)),
    )
    cut = (None, 0, 0, 0, None)
    run = vmap(answer, in_axes=cut, axis_name="model", axis_size=devices)
    try:
        y = jit(run)(x, *parts, b2)
    except TypeError as error:
        if "JAX arrays are immutable" not in str(error):
            raise
        said = "The function changes its input, or another array, in place"
        raise Refused(f"{said}: the arrays of JAX cannot be changed.") from None
    if y is None:
        raise Unsolved("the function returns None")
    return np.asarray(y)


def on_devices(answer: object) -> Callable:
    """The answer as a function of whole arrays; Refused where it is no function."""
    refuse_no_function(answer)
    import jax  # noqa: F401  # its import is no work of the answer

    return partial(run_on_parts, answer)


def our_mlp(x, w1, b1, w2, b2):
    """What `check` hands on where an answer is wrong; the same as in the lesson."""
    import jax

    part = jax.nn.relu(x @ w1 + b1) @ w2
    return jax.lax.psum(part, "model") + b2


def traffic() -> list[tuple[str, Quantity]]:
    """What the layer's devices exchange."""
    return [("to add up y[6, 7] on eight devices", counted(4 * 6 * 7, "B", "4 B each"))]


tensor_parallel_mlp = exercise(
    "tpu.tensor_parallel_mlp",
    oracle=on_one_device,
    cases=layers,
    wrong=by_own_name(
        wrong_mlp.not_added,
        wrong_mlp.averaged,
        wrong_mlp.bias_on_each_device,
        wrong_mlp.no_bias,
        wrong_mlp.no_hidden_bias,
        wrong_mlp.bias_divided,
        wrong_mlp.no_relu,
        wrong_mlp.relu_before_bias,
        wrong_mlp.relu_at_the_end,
        wrong_mlp.relu_of_parts,
        wrong_mlp.added_twice,
        wrong_mlp.largest_part,
        wrong_mlp.hidden_added,
        wrong_mlp.two_devices,
    ),
    outputs=("y",),
    forbidden=("torch", "tensorflow", "labkit.reference", "labkit.convnet"),
    adapter=on_devices,
    plain=run_on_parts,
    fallback=our_mlp,
    plain_python=True,
    rtol=1e-3,
    atol=1e-4,
    cost=traffic,
)

EXERCISES = [block, tensor_parallel_mlp]
