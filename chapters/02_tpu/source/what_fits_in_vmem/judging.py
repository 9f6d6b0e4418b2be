"""How a kernel with copies of its own is judged: its copies arrive only when somebody waits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from labkit.checks.items import Refused, Unsolved, refuse_no_function
from labkit.checks.phrasing import refuse_other_parameters
from labkit.tpu.tracing import quiet_jax

HANGS = (
    "The kernel waits for a copy that was not started, on a TPU for ever: start() comes before "
    "wait(), and one wait() ends one copy."
)
EARLY = "The kernel reads `block` while the copy from x may still be on its way: wait for it first."
LEAVES = (
    "The kernel ends while a copy may still be on its way: wait for each copy, also for the last."
)
CHANGED = "The kernel changes its input: it copies into x, which others may read."
NOTHING = "y holds NaN, since nothing was copied there: `block` has to be copied to y."
X = 0  # its place among the parameters


def by_hand(answer: Any) -> Callable:
    """A kernel of x, y, a block in VMEM and two semaphores, run on the CPU; or Refused."""
    refuse_no_function(answer)
    refuse_other_parameters(answer, _kernel)

    def doubled(x: np.ndarray) -> np.ndarray:
        """y of one case"""
        _refuse(_program(answer, x))
        y = np.asarray(_call(answer, x, "on_wait"))
        if np.isnan(y).any():
            raise Refused(NOTHING)
        return y

    return doubled


def plain(answer: Callable, x: np.ndarray) -> np.ndarray:
    """What a kernel leaves in y, judged by nobody, where each copy arrives at once."""
    return np.asarray(_call(answer, x, "eager"))


def _kernel(x: Any, y: Any, block: Any, arrived: Any, left: Any) -> None:
    """The parameters of a kernel."""


def _call(answer: Callable, x: Any, mode: str) -> Any:
    quiet_jax()
    import jax
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    semaphore = pltpu.SemaphoreType.DMA
    return pl.pallas_call(
        answer,
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
        out_specs=pl.BlockSpec(memory_space=pl.ANY),
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        scratch_shapes=[pltpu.VMEM(x.shape, x.dtype), semaphore, semaphore],
        interpret=pltpu.InterpretParams(dma_execution_mode=mode),
    )(x)


def _program(answer: Callable, x: np.ndarray) -> Any:
    """The kernel as a program, which is only written down."""
    quiet_jax()
    import jax

    whole = jax.make_jaxpr(lambda x: _call(answer, x, "eager"))(x)
    (kernel,) = [one.params["jaxpr"] for one in whole.eqns if one.primitive.name == "pallas_call"]
    return kernel


def _refuse(kernel: Any) -> None:
    """Unsolved or Refused for what a run would not show, or would not end with."""
    writes = [effect.input_index for effect in kernel.effects if "Write" in type(effect).__name__]
    if not writes:
        raise Unsolved("the kernel writes nothing")
    if X in writes:
        raise Refused(CHANGED)
    on_the_way = 0
    early = False
    for step in kernel.eqns:
        on_the_way += {"dma_start": 1, "dma_wait": -1}.get(step.primitive.name, 0)
        if on_the_way < 0:
            raise Refused(HANGS)
        early = early or (step.primitive.name == "get" and on_the_way > 0)
    if early:
        raise Refused(EARLY)
    if on_the_way:
        raise Refused(LEAVES)
