"""How `tpu.masked_loss` is judged: compiled by `jax.jit`, which is not told the count."""

from collections.abc import Callable

import numpy as np

from labkit.checks.items import NotJudged, Refused, refuse_no_function

# What JAX raises -> why. The first that fits counts, since some are kinds of others.
CAUSES = {
    "UnexpectedTracerError": "Something is kept from one call to the next: what is kept there has "
    "no values, and belongs to a program that is finished. The results may follow from the "
    "inputs alone.",
    "NonConcreteBooleanIndexError": "Under `jit`, a choice by truth values, `x[kept]`, has no "
    "shape yet: how many are kept follows from values. Keep all places, and put 0 into some.",
    "TracerArrayConversionError": "Under `jit`, NumPy's functions find no values: take those of "
    "`jnp`, by the same names.",
    "TracerBoolConversionError": "Under `jit`, Python's `if` and `while` find no values to decide "
    "by: `jnp.where` decides for each place.",
    "TracerIntegerConversionError": "Under `jit`, `count` has no value that Python could count or "
    "index by: compare it with the places `jnp.arange(...)`.",
    "ConcretizationTypeError": "Under `jit`, `count` has no value yet, and nothing may have a size "
    "that follows from it: all sizes come from `per_image.shape`.",
}
SLICED = (
    "Under `jit`, a slice that ends at `count` has no shape yet, since `count` has no value: keep "
    "all places, and put 0 into those of the fillers."
)
IN_PLACE = (
    "The function changes its input `per_image`: JAX's arrays do not change. Make a new one, for "
    "example with `jnp.where`."
)


def cause_of(error: Exception) -> str | None:
    """What the learner reads in the place of JAX's own words; None for an error of another kind."""
    said = str(error)
    if isinstance(error, IndexError) and "static start/stop/step" in said:
        return SLICED
    if "JAX arrays are immutable" in said:
        return IN_PLACE
    kinds = [kind.__name__ for kind in type(error).__mro__]
    for name, cause in CAUSES.items():
        if name in kinds:
            return cause
    return None


def compiled(answer: Callable) -> Callable:
    """The learner's function under `jax.jit`: one program for each length, whatever the count."""
    refuse_no_function(answer)
    try:
        import jax
    except ImportError as error:
        raise NotJudged("jax compiles the answer, and is missing: pip install jax.") from error
    program = jax.jit(lambda per_image, count: answer(per_image, count))

    def loss(per_image: np.ndarray, count: int) -> object:
        try:
            result = program(per_image, count)
        except Exception as error:
            if sentence := cause_of(error):
                raise Refused(sentence) from None
            raise
        return np.asarray(result) if isinstance(result, jax.Array) else result

    return loss


def masked_mean(per_image, count):
    """The course's own version of tpu.masked_loss, until yours is right."""
    from jax import numpy as jnp

    real = jnp.arange(len(per_image)) < count
    return jnp.where(real, per_image, 0).sum() / count
