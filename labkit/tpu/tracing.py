"""A learner's function, written down: for the compiler as bytes, for the snapshot as a fingerprint.

Tracing runs a function once, with arrays that have shapes and no values; nothing is computed.
"""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from labkit.hardware import this_machine
from labkit.tpu.arguments import Arguments, listed, read_arguments
from labkit.tpu.fingerprint import fingerprint, structure_of

# With libtpu but no TPU, jax asks around for one, aloud and one process at a time; unless told.
NO_TPU = {
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_WORKER_ID": "0",
    "TPU_ACCELERATOR_TYPE": "v5litepod-1",
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    # What is logged lies in /tmp, where all can read folders and flags: nothing is.
    "TPU_LOG_DIR": "disabled",
    "TPU_MIN_LOG_LEVEL": "3",
}


class TracedProgram(NamedTuple):
    """A function on arrays of known shapes, ready for the compiler or to be looked up."""

    title: str  # matmul(a: bfloat16[4096,1024], b: bfloat16[1024,512])
    names: list[str]  # of its arguments, one for each array
    shardings: list | None  # for each array: the axis of devices that each dimension is cut over
    mesh: dict[str, int] | None  # the axes of devices with their sizes; None: one axis
    fingerprint: str
    serialise: Callable[[], bytes]  # what jax.export writes
    donate: Sequence[int] = ()  # arguments whose memory the results may take


class _Trace(NamedTuple):
    """What one framework tells of a function."""

    variables: list[str]  # names of the arrays that it holds, as a Keras model holds its weights
    structure: Any  # all of the program that its fingerprint depends on
    serialise: Callable[[], bytes]


def trace(
    f: Callable,
    shapes: Sequence,
    shardings: Sequence | None = None,
    mesh: Mapping[str, int] | None = None,
    donate: Sequence[int] = (),
) -> TracedProgram:
    """Trace `f` on arrays of `shapes`, without computing anything; see compile_for_tpu.

    Raises ImportError without jax, and ValueError for shapes, shardings and donated arguments that
    cannot be and for a function that cannot be traced on them.
    """
    quiet_jax()
    shapes = listed(shapes)
    if shardings is not None and len(shardings) != len(shapes):
        raise ValueError(f"{len(shapes)} arguments need as many shardings, not {len(shardings)}.")
    if not set(donate) <= set(range(len(shapes))):
        raise ValueError(f"donate={donate}: there are {len(shapes)} arguments, counted from 0.")
    arguments = read_arguments(f, shapes)
    name = getattr(f, "__name__", None) or getattr(f, "name", type(f).__name__)
    framework = _trace_tensorflow if _is_of_tensorflow(f) else _trace_jax
    try:
        traced = framework(f, arguments.nested)
    except Exception as error:  # of the learner's function or its framework, on these shapes
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(f"{name} cannot be traced on these shapes. {said}") from error
    cuts = None
    axes = dict(mesh) if mesh else None
    if shardings is not None:
        cuts = [list(shardings[position]) for position in arguments.positions]
        cuts += [[] for _ in traced.variables]  # every device has all variables
    return TracedProgram(
        title=_title(name, arguments, len(traced.variables)),
        names=arguments.names + traced.variables,
        shardings=cuts,
        mesh=axes,
        fingerprint=fingerprint(traced.structure, cuts, axes, donate),
        serialise=traced.serialise,
        donate=tuple(donate),
    )


def quiet_jax() -> None:
    """Where there is no TPU, JAX is told so before it is first used, and looks for none.

    Raises ImportError without jax.
    """
    if not this_machine().has_tpu:
        os.environ.update(NO_TPU)
    try:
        import jax  # noqa: F401
    except ImportError as error:
        raise ImportError("jax traces the programs and is missing: pip install jax") from error


def _title(name: str, arguments: Arguments, variables: int) -> str:
    """The function with its arrays; of many the last two."""
    pairs = zip(arguments.names, arguments.arrays, strict=True)
    said = [f"{name}: {array.dtype}{[*array.shape]}" for name, array in pairs]
    if len(said) >= 5:
        said = [f"{len(said) - 2} arrays", *said[-2:]]
    if variables:
        said.append(f"{variables} variables")
    return f"{name}({', '.join(said)})"


def _is_of_tensorflow(f: Callable) -> bool:
    """Is it a tf.function, or a Keras model on TensorFlow?"""
    if hasattr(f, "experimental_get_compiler_ir"):
        return True
    is_keras = hasattr(f, "stateless_call")
    return is_keras and sys.modules["keras"].backend.backend() == "tensorflow"


def _trace_jax(f: Callable, given: list) -> _Trace:
    """A JAX function, or a Keras model on JAX, whose variables become arguments."""
    import jax
    import jax.export

    call = f
    variables = []
    if hasattr(f, "stateless_call"):
        trained, others = f.trainable_variables, f.non_trainable_variables
        variables = [one.path for one in trained + others]
        given = [*given, _as_shapes(trained), _as_shapes(others)]
        call = _of_its_variables(f)
    export = jax.export.export(jax.jit(call, keep_unused=True), platforms=["tpu"])
    structure = structure_of(jax.make_jaxpr(call)(*given))
    return _Trace(variables, structure, lambda: bytes(export(*given).serialize()))


def _as_shapes(variables: list) -> list:
    import jax

    return [jax.ShapeDtypeStruct(one.shape, one.dtype) for one in variables]


def _of_its_variables(model: Any) -> Callable:
    """The model as a function: its last two arguments are the values of its variables."""

    def call(*arguments: Any) -> Any:
        *inputs, trained, others = arguments
        output, _ = model.stateless_call(trained, others, *inputs)
        return output

    return call


def _trace_tensorflow(f: Callable, given: list) -> _Trace:
    """A tf.function or a Keras model on TensorFlow, whose variables become arguments."""
    import jax
    import tensorflow as tf

    call = getattr(f, "python_function", None) or partial(f, training=False)
    function = tf.function(call, jit_compile=True)
    specs = jax.tree.map(lambda one: tf.TensorSpec(one.shape, one.dtype), given)
    concrete = function.get_concrete_function(*specs)
    variables = {one.handle.ref(): one for one in concrete.variables}
    held = [variables.get(one.ref(), one) for one in concrete.captured_inputs]
    results = tf.nest.flatten(concrete.structured_outputs)
    text = function.experimental_get_compiler_ir(*specs)(stage="stablehlo")
    text = text.replace("mhlo.copy", "stablehlo.optimization_barrier")
    names = [getattr(one, "name", "constant") for one in held]
    return _Trace(names, _plain(text), partial(_serialise, text, given, held, results))


def _plain(stablehlo: str) -> str:
    """The text of a program without source lines and without the name of its function."""
    return re.sub(r" ?loc\((?:[^()]|\([^()]*\))*\)|#loc.*|@a_inference\S+", "", stablehlo)


def _serialise(text: str, given: list, held: list, results: list) -> bytes:
    """TensorFlow's StableHLO in the place of the program of a JAX function that has the same
    arguments and results, as jax.export would have written it."""
    import jax
    import jax.export
    from jaxlib.mlir.dialects import stablehlo

    def same_results(*_: Any) -> list:
        return [jax.numpy.zeros(one.shape, one.dtype.name) for one in results]

    variables = [jax.ShapeDtypeStruct(one.shape, one.dtype.name) for one in held]
    function = jax.jit(same_results, keep_unused=True)
    exported = jax.export.export(function, platforms=["tpu"])(*given, *variables)
    version = stablehlo.get_current_version()
    code = stablehlo.serialize_portable_artifact_str(text, version)
    return bytes(replace(exported, mlir_module_serialized=code).serialize())
