"""Wrong answers of the lesson, written as a learner would, and what each must be told."""

from functools import partial

import numpy as np

from tests.exercises.edits import edit

KEPT = {}  # what answers keep from call to call

# --- tpu.block

block = partial(edit, "tpu.block")
START = "start = place[axis] * part"
block_whole = block("block_whole", "if axis is None:", "if True:")
block_at_place = block("block_at_place", START, "start = place[axis]")
block_first = block("block_first", START, "start = 0")
block_transposed_spec = block(
    "block_transposed_spec", "zip(a.shape, spec,", "zip(a.shape, spec[::-1],"
)
block_strided = block(
    "block_strided", "slice(start, start + part)", "slice(place[axis], None, mesh[axis])"
)
block_one_short = block("block_one_short", "start + part)", "start + part - 1)")
block_from_the_end = block(
    "block_from_the_end", START, "start = (mesh[axis] - 1 - place[axis]) * part"
)
block_size_as_parts = block(
    "block_size_as_parts", "part = length // mesh[axis]", "part = mesh[axis]"
)
block_for_two = block("block_for_two", "length // mesh[axis]", "length // 2")
block_in_int16 = block("block_in_int16", "a[tuple(slices)]", "a[tuple(slices)].astype('i2')")


def block_of_kept_matrix(a, spec, mesh, place):
    if len(a) > 1:
        a = KEPT.setdefault((a.shape, spec), a.copy())
    return block_by_split(a, spec, mesh, place)


def block_by_split(a, spec, mesh, place):
    for dimension, axis in enumerate(spec):
        if axis is not None:
            a = np.array_split(a, mesh[axis], axis=dimension)[place[axis]]
    return a


def block_cleared(a, spec, mesh, place):
    own = block_by_split(a, spec, mesh, place).copy()
    a[:] = 0
    return own


def block_by_torch(a, spec, mesh, place):
    import torch

    return torch.tensor(np.array(block_by_split(a, spec, mesh, place))).numpy()


# --- tpu.tensor_parallel_mlp

mlp = partial(edit, "tpu.tensor_parallel_mlp")
SUM = 'jax.lax.psum(part, "model") + b2'
mlp_not_added = mlp("mlp_not_added", SUM, "part + b2")
mlp_mean = mlp("mlp_mean", "psum(part", "pmean(part")
mlp_bias_first = mlp("mlp_bias_first", SUM, 'jax.lax.psum(part + b2, "model")')
mlp_linear = mlp("mlp_linear", "jax.nn.relu(x @ w1 + b1)", "x @ w1 + b1")
mlp_bias_after_relu = mlp("mlp_bias_after_relu", "relu(x @ w1 + b1)", "relu(x @ w1) + b1")
mlp_no_bias = mlp("mlp_no_bias", SUM, 'jax.lax.psum(part, "model")')
mlp_for_two = mlp("mlp_for_two", SUM, 'jax.lax.psum(part + b2 / 2, "model")')
mlp_in_bfloat16 = mlp("mlp_in_bfloat16", "psum(part,", "psum(part.astype('bfloat16'),")


def mlp_with_jnp(x, w1, b1, w2, b2):
    import jax
    from jax import numpy as jnp

    part = jnp.dot(jnp.maximum(x @ w1 + b1, 0), w2)
    return jax.lax.all_gather(part, "model").sum(axis=0) + b2


def mlp_bias_on_the_first(x, w1, b1, w2, b2):
    import jax

    first = jax.lax.axis_index("model") == 0
    part = jax.nn.relu(x @ w1 + b1) @ w2
    return jax.lax.psum(part + b2 * first, axis_name="model")


def mlp_in_place(x, w1, b1, w2, b2):
    import jax

    if len(x) > 1:
        x[:] = 0
    return jax.lax.psum(jax.nn.relu(x @ w1 + b1) @ w2, "model") + b2


def mlp_by_torch(x, w1, b1, w2, b2):
    import torch

    return mlp_with_jnp(x, w1, b1, w2, b2) + torch.zeros(1).numpy()


PLANTED = {
    "tpu.block": [
        (block_whole, "This is the whole matrix"),
        (block_at_place, "rows or columns from the start"),
        (block_first, "the block of the first device"),
        (block_transposed_spec, "the first entry of the spec belongs to the rows"),
        (block_strided, "dealt out like cards"),
        (block_one_short, "one row or column too short"),
        (block_from_the_end, "counted from the end"),
        (block_size_as_parts, "taken for the size of one"),
        (block_for_two, "Every cut makes two parts"),
        (block_in_int16, "int16"),
        (block_of_kept_matrix, "kept from one call to the next"),
        (block_cleared, "changes its input"),
        (block_by_torch, "torch"),
    ],
    "tpu.tensor_parallel_mlp": [
        (mlp_not_added, "returns its own part"),
        (mlp_mean, "The parts are averaged"),
        (mlp_bias_first, "once for each device"),
        (mlp_linear, "ReLU is missing"),
        (mlp_bias_after_relu, "ReLU comes before the bias"),
        (mlp_no_bias, "The bias b2 is missing"),
        (mlp_for_two, "as if there were always two devices"),
        (mlp_in_bfloat16, "too few bits"),
        (mlp_in_place, "changes its input"),
        (mlp_by_torch, "torch"),
    ],
}
ONES = [np.ones(size, "float32") for size in ((9, 2), (2, 4), (4,), (4, 2))]
RIGHT_ON = {
    mlp_no_bias: (*ONES, np.zeros(2, "float32"), 2),
    mlp_in_bfloat16: (*ONES, np.ones(2, "float32"), 2),
}
ALSO_RIGHT = {
    "tpu.block": [block_by_split],
    "tpu.tensor_parallel_mlp": [mlp_with_jnp, mlp_bias_on_the_first],
}
