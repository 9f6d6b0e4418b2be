"""What `compile_for_tpu` takes as shapes: each form, the arrays that it means, and their names.

A shape is (32, 56, 56, 64), which is bfloat16, or ((1024, 1024), "float32"), or what has a shape
and a dtype. An argument is a shape, or a tuple, list or dict of arguments.
"""

import inspect
from collections.abc import Callable, Sequence
from operator import index
from typing import Any, NamedTuple

import numpy as np

FORMS = "(32, 56, 56, 64), which is bfloat16, or ((1024, 1024), 'float32')"


class Arguments(NamedTuple):
    """A function's arguments; each list has one entry for each array."""

    names: list[str]  # "x", or within a dict "weights['w']"
    arrays: list  # of jax.ShapeDtypeStruct
    positions: list[int]  # which argument of the function the array belongs to
    nested: list  # the arrays in the tuples, lists and dicts in which they were given


def listed(shapes: Any) -> list:
    """One entry for each argument; a shape alone is that of the only one."""
    if not isinstance(shapes, tuple | list) or _is_shape(shapes):
        return [shapes]
    return [*shapes]


def read_arguments(f: Callable, shapes: Sequence) -> Arguments:
    """The arrays that `f` gets, of which `shapes` has one entry for each argument.

    Raises ValueError for what is no shape, and for dtypes and sizes that no TPU holds.
    """
    import jax

    called = _argument_names(f, len(shapes))
    is_leaf = lambda part: part is not shapes and _is_shape(part)  # noqa: E731
    leaves, tree = jax.tree.flatten_with_path(shapes, is_leaf)
    positions = [path[0].idx for path, _ in leaves]
    names = [called[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in leaves]
    arrays = [_array(name, leaf) for name, (_, leaf) in zip(names, leaves, strict=True)]
    return Arguments(names, arrays, positions, tree.unflatten(arrays))


def _argument_names(f: Callable, count: int) -> list[str]:
    """The names in the function's own head; "argument0" and so on where it tells none."""
    code = getattr(inspect.unwrap(f), "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code else []
    return names + [f"argument{i}" for i in range(len(names), count)]


def _is_shape(part: Any) -> bool:
    """A shape, a shape with a dtype, or what has both; not a tuple, list or dict of these."""
    if not isinstance(part, tuple | list):
        return not isinstance(part, dict)
    if len(part) == 2 and isinstance(part[0], tuple | list):
        return _is_shape(part[0]) and isinstance(part[1], str | type | np.dtype)
    return all(isinstance(size, int | np.integer) for size in part)


def _array(name: str, leaf: Any) -> Any:
    """What jax takes for an array of this shape and dtype; ValueError for what no TPU holds."""
    import jax

    shape = leaf
    dtype = "bfloat16"
    if isinstance(leaf, tuple | list) and len(leaf) == 2 and not isinstance(leaf[0], int):
        shape, dtype = leaf
    shape = getattr(leaf, "shape", shape)
    dtype = getattr(leaf, "dtype", dtype)
    try:
        sizes = tuple(index(size) for size in shape)
        made = jax.ShapeDtypeStruct(sizes, jax.numpy.dtype(dtype))
    except TypeError:
        said = f"{leaf!r} is no shape, nor a shape and a dtype. Write {FORMS}"
        raise ValueError(f"{name}: {said}.") from None
    if made.dtype.itemsize == 8 or made.dtype.kind in "cSUO":
        raise ValueError(f"{name}: a TPU does not compute in {dtype}. Use bfloat16 or float32.")
    if min(made.shape, default=1) < 1:
        raise ValueError(f"{name}: the shape {made.shape} has an axis of size 0 or less.")
    return made
