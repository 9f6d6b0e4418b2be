"""A learner's function, written down: for the compiler as bytes, for the snapshot as a fingerprint.

The fingerprint is made of the traced program: its primitives, shapes, dtypes, parameters and
constants, in order, but not of names, source lines or a version's private settings. So it is the
same under neighbouring versions of jax, and another for every change of the program.
"""

import hashlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from operator import index
from typing import Any, NamedTuple

import numpy as np

from labkit.hardware import this_machine

# With libtpu but no TPU, jax asks around for one, aloud and one process at a time; unless told.
NO_TPU = {"TPU_SKIP_MDS_QUERY": "1", "TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"}
NO_TPU |= {"TPU_ACCELERATOR_TYPE": "v5litepod-1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}


class Program(NamedTuple):
    title: str  # matmul(a: bfloat16[4096,1024], b: bfloat16[1024,512])
    names: list[str]  # of its arguments, one for each array
    shardings: list | None  # for each array: the axis of devices that each dimension is cut over
    fingerprint: str
    serialise: Callable[[], bytes]  # what jax.export writes


def trace(f: Callable, shapes: Sequence, shardings: Sequence | None = None) -> Program:
    """Trace `f` on arrays of `shapes`, without computing anything; see compile_for_tpu."""
    if not this_machine().has_tpu:
        os.environ.update(NO_TPU)
    try:
        import jax
    except ImportError as error:
        raise ImportError("jax traces the programs and is missing: pip install jax") from error
    name = getattr(f, "__name__", None) or getattr(f, "name", type(f).__name__)
    shapes = [shapes] if not isinstance(shapes, tuple | list) or _is_leaf(shapes) else [*shapes]
    if shardings is not None and len(shardings) != len(shapes):
        raise ValueError(f"{len(shapes)} arguments need as many shardings, not {len(shardings)}.")
    code = getattr(inspect.unwrap(f), "__code__", None)
    called = [*code.co_varnames[: code.co_argcount]] if code else []
    called += [f"argument{i}" for i in range(len(called), len(shapes))]
    paths, tree = jax.tree.flatten_with_path(shapes, lambda a: a is not shapes and _is_leaf(a))
    names = [called[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in paths]
    arrays = [_array(one, leaf) for one, (_, leaf) in zip(names, paths, strict=True)]
    keras = hasattr(f, "stateless_call") and sys.modules["keras"].backend.backend()
    in_tensorflow = keras == "tensorflow" or hasattr(f, "experimental_get_compiler_ir")
    try:
        tracer = _tensorflow if in_tensorflow else _functional
        variables, structure, serialise = tracer(f, tree.unflatten(arrays))
    except Exception as error:  # of the learner's function or its framework, on these shapes
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{name} cannot be traced on these shapes. {said}") from error
    said = [f"{n}: {a.dtype}{[*a.shape]}" for n, a in zip(names, arrays, strict=True)]
    said = said if len(said) < 5 else [f"{len(said) - 2} arrays", *said[-2:]]
    said += [f"{len(variables)} variables"] * bool(variables)
    cuts = shardings and [list(shardings[path[0].idx]) for path, _ in paths]
    cuts = cuts and cuts + [[]] * len(variables)  # every device has all variables
    digest = hashlib.sha256(repr((structure, cuts)).encode()).hexdigest()[:24]
    return Program(f"{name}({', '.join(said)})", names + variables, cuts, digest, serialise)


def _functional(f: Callable, given: list) -> tuple:
    """A JAX function, or a Keras model on JAX: names of its variables, structure, serialiser."""
    import jax
    import jax.export

    call, variables = f, []
    if hasattr(f, "stateless_call"):
        sets = f.trainable_variables, f.non_trainable_variables
        variables = [v.path for v in sets[0] + sets[1]]
        given = given + [[jax.ShapeDtypeStruct(v.shape, v.dtype) for v in held] for held in sets]

        def call(*inputs: Any) -> Any:
            return f.stateless_call(*inputs[-2:], *inputs[:-2])[0]

    exporting = jax.export.export(jax.jit(call, keep_unused=True), platforms=["tpu"])
    structure = _structure(jax.make_jaxpr(call)(*given))
    return variables, structure, lambda: bytes(exporting(*given).serialize())


def _tensorflow(f: Callable, given: list) -> tuple:
    """The same for a tf.function or a Keras model on TensorFlow: its StableHLO takes the place of
    the program of a JAX function that has the same arguments and results."""
    import jax.export
    import tensorflow as tf
    from jaxlib.mlir.dialects import stablehlo

    call = getattr(f, "python_function", None) or partial(f, training=False)
    function = tf.function(call, jit_compile=True)
    specs = jax.tree.map(lambda a: tf.TensorSpec(a.shape, a.dtype), given)
    concrete = function.get_concrete_function(*specs)
    variables = {v.handle.ref(): v for v in concrete.variables}
    held = [variables.get(one.ref(), one) for one in concrete.captured_inputs]
    ins = [jax.ShapeDtypeStruct(one.shape, one.dtype.name) for one in held]
    outs, zeros = tf.nest.flatten(concrete.structured_outputs), jax.numpy.zeros
    text = function.experimental_get_compiler_ir(*specs)(stage="stablehlo")
    text = text.replace("mhlo.copy", "stablehlo.optimization_barrier")

    def serialise() -> bytes:
        same = jax.jit(lambda *_: [zeros(o.shape, o.dtype.name) for o in outs], keep_unused=True)
        exported = jax.export.export(same, platforms=["tpu"])(*given, *ins)
        code = stablehlo.serialize_portable_artifact_str(text, stablehlo.get_current_version())
        return bytes(replace(exported, mlir_module_serialized=code).serialize())

    plain = re.sub(r" ?loc\((?:[^()]|\([^()]*\))*\)|#loc.*|@a_inference\S+", "", text)
    return [getattr(one, "name", "constant") for one in held], plain, serialise


def _is_leaf(thing: Any) -> bool:
    """A shape, a shape with a dtype, or what has both; not a tuple, list or dict of these."""
    if not isinstance(thing, tuple | list):
        return not isinstance(thing, dict)
    if len(thing) == 2 and isinstance(thing[0], tuple | list):
        return _is_leaf(thing[0]) and isinstance(thing[1], str | type | np.dtype)
    return all(isinstance(n, int | np.integer) for n in thing)


def _array(name: str, leaf: Any) -> Any:
    """What jax takes for an array of this shape and dtype; ValueError for what no TPU holds."""
    import jax

    paired = isinstance(leaf, tuple | list) and len(leaf) == 2 and not isinstance(leaf[0], int)
    shape, dtype = leaf if paired else (leaf, "bfloat16")
    shape, dtype = getattr(leaf, "shape", shape), getattr(leaf, "dtype", dtype)
    try:
        made = jax.ShapeDtypeStruct(tuple(map(index, shape)), jax.numpy.dtype(dtype))
    except TypeError:
        form = "(32, 56, 56, 64), which is bfloat16, or ((1024, 1024), 'float32')"
        said = f"{leaf!r} is no shape, nor a shape and a dtype. Write {form}"
        raise ValueError(f"{name}: {said}.") from None
    if made.dtype.itemsize == 8 or made.dtype.kind in "cSUO":
        raise ValueError(f"{name}: a TPU does not compute in {dtype}. Use bfloat16 or float32.")
    if min(made.shape, default=1) < 1:
        raise ValueError(f"{name}: the shape {made.shape} has an axis of size 0 or less.")
    return made


def _structure(jaxpr: Any) -> tuple:
    """A traced program as nested tuples, its variables numbered as they come."""
    numbers: dict = {}

    def atom(thing: Any) -> tuple:
        kind = str(getattr(thing.aval, "dtype", thing.aval)), getattr(thing.aval, "shape", ())
        if hasattr(thing, "val"):  # a number written into the program
            return *kind, np.asarray(thing.val).tolist()
        return *kind, numbers.setdefault(thing, len(numbers))

    def plain(value: Any) -> Any:
        if hasattr(value, "eqns") or hasattr(value, "jaxpr"):
            return _structure(value)
        if isinstance(value, tuple | list):
            return tuple(map(plain, value))
        return str(value) if isinstance(value, np.dtype | np.generic) else repr(value)

    def equation(one: Any) -> tuple:
        name, given = one.primitive.name, sorted(one.params.items())
        if name in {"jit", "pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"}:
            name, given = "call", [(k, v) for k, v in given if k in {"jaxpr", "call_jaxpr"}]
        given = [(k, plain(v)) for k, v in given if v is not None]
        return name, given, [atom(v) for v in one.invars], [atom(v) for v in one.outvars]

    inner, constants = getattr(jaxpr, "jaxpr", jaxpr), getattr(jaxpr, "consts", ())
    held = [hashlib.sha256(np.asarray(c).tobytes()).hexdigest() for c in constants]
    ins = [atom(v) for v in [*inner.constvars, *inner.invars]]
    return held, ins, [equation(one) for one in inner.eqns], [atom(v) for v in inner.outvars]
