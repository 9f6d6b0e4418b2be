"""How this lesson's answers are run: index maps with numbers, kernels interpreted on the CPU."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.phrasing import refuse_other_parameters
from labkit.tpu.tiled import tiled
from labkit.tpu.tracing import quiet_jax

NAN = (
    "The result holds NaN. When a block of y is begun, `total` holds whatever was there before, "
    "and here that is NaN: set it to 0 in the first step, k = 0, before anything is added."
)
CHANGED = (
    "The step changes its input: it writes to {name}, whose block the next step may read again. "
    "Write to y and total only."
)
IMMUTABLE = (
    "The function changes its input, which JAX does not allow: its arrays stay as they are. Make "
    "new ones, with jnp.where."
)
UNTOUCHED = (
    "The result holds NaN, since some block of y was never written: store `total` in the last step."
)


def for_each_step(answer: Any) -> Callable:
    """Index maps, called with the whole numbers of each grid step, as arrays [steps, 2]."""
    refuse_no_function(answer)

    def indices(i: np.ndarray, j: np.ndarray, k: np.ndarray) -> tuple:
        """block_indices of n steps"""
        found: list[list] = [[], [], []]
        for place in range(len(i)):
            returned = answer(*(one[place, ...] for one in (i, j, k)))
            if returned is None:
                return (np.zeros((len(i), 2), int),) * 3
            if not isinstance(returned, tuple | list) or len(returned) != 3:
                raise Refused("Return three pairs: the block of x, that of w, and that of y.")
            for blocks, one in zip(found, returned, strict=True):
                if np.shape(one) != (2,):
                    raise Refused(f"A block has a row and a column: {one} is no such pair.")
                blocks.append(np.array(one))
        return tuple(np.array(blocks) for blocks in found)

    return indices


def interpreted(answer: Any) -> Callable:
    """A kernel's step, run on the CPU by Pallas' interpreter, step after step."""
    refuse_no_function(answer)
    refuse_other_parameters(answer, _step)

    def matmul(x: np.ndarray, w: np.ndarray, blocks: tuple) -> np.ndarray:
        """x[M, K] @ w[K, N] in blocks (bm, bk, bn)"""
        written = _written(answer, blocks)
        if not written:
            raise Unsolved("the step writes nothing")
        for place, name in enumerate("xw"):
            if place in written:
                raise Refused(CHANGED.format(name=name))
        result = plain(answer, x, w, blocks)
        if np.isnan(result).any():
            begun = plain(_with_zeros(answer), x, w, blocks)
            raise Refused(UNTOUCHED if np.isnan(begun).any() else NAN)
        return result

    return matmul


def plain(answer: Callable, x: np.ndarray, w: np.ndarray, blocks: tuple) -> np.ndarray:
    """What a step computes, judged by nobody."""
    return np.asarray(tiled(answer, blocks, interpret=True)(x, w))


def _step(x: Any, w: Any, y: Any, total: Any) -> None:
    """The parameters of a step."""


def _written(answer: Callable, blocks: tuple) -> set[int]:
    """Which of the references x, w, y and total the step, as a program, writes to; by its place."""
    import jax

    bm, bk, bn = blocks
    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((bm, bk), (bk, bn))]
    program = jax.make_jaxpr(tiled(answer, blocks, interpret=True))(*shapes)
    (kernel,) = [one.params["jaxpr"] for one in program.eqns if one.primitive.name == "pallas_call"]
    writes = ("WriteEffect", "AccumEffect")
    return {effect.input_index for effect in kernel.effects if type(effect).__name__ in writes}


def _with_zeros(answer: Callable) -> Callable:
    """The same step, behind one that sets `total` to 0 whenever a block of y begins."""
    from jax import numpy as jnp
    from jax.experimental import pallas as pl

    def step(x: Any, w: Any, y: Any, total: Any) -> None:
        @pl.when(pl.program_id(2) == 0)
        def begin() -> None:
            total[...] = jnp.zeros_like(total)

        answer(x, w, y, total)

    return step


def masked_in_jax(answer: Any) -> Callable:
    """A function of blocks, traced by JAX with a step that is no number yet, as in a kernel."""
    refuse_no_function(answer)
    quiet_jax()

    def kept(x: np.ndarray, w: np.ndarray, k: int, K: int) -> tuple:
        """mask_k"""
        import jax

        try:
            jax.make_jaxpr(answer, static_argnums=3)(x, w, k, K)
            with jax.disable_jit():  # compiled, a product with a mask would become a choice
                returned = answer(jax.numpy.asarray(x), jax.numpy.asarray(w), k, K)
        except jax.errors.JAXTypeError as error:
            said = str(error).partition("\n")[0]
            raise Refused(
                "In a kernel, the blocks and k are no numbers yet: compute with jnp and lax, and "
                f"decide with jnp.where instead of `if`. JAX says: {said}"
            ) from None
        except TypeError as error:
            if "immutable" in str(error) or "item assignment" in str(error):
                raise Refused(IMMUTABLE) from None
            raise
        if returned is None:
            return np.zeros_like(x), np.zeros_like(w)
        if not isinstance(returned, tuple | list) or len(returned) != 2:
            raise Refused("Return both blocks, x and w.")
        return tuple(np.asarray(one) for one in returned)

    return kept
