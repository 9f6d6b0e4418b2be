"""What only some machines can say: the compiler where it is installed, a clock where a TPU is.

Lesson what_the_compiler_makes_of_a_layer sets both beside the snapshot's answers.
"""

from collections.abc import Callable, Sequence
from textwrap import fill
from timeit import repeat

from labkit.provenance import Quantity, measured
from labkit.tpu import compiler, programs, snapshot

WIDTH = 96  # letters in a line of what is printed


def agreement(f: Callable, shapes: Sequence, topology: str) -> str:
    """Whether the compiler that is installed here says of a program what the snapshot says.

    A sentence in any case: with every difference, or why there is no answer.
    """
    if not compiler.installed():
        return f"There is no TPU compiler here. {snapshot.INSTALL}."
    stored = compiler.compile_for_tpu(f, shapes, topology, source="snapshot")
    try:
        live = compiler.compile_for_tpu(f, shapes, topology, source="compiler")
    except compiler.CompilerError as error:  # a crash ends the compiler's process, not this one
        return str(error)
    return fill(snapshot.agreement(live, stored), WIDTH)


def measure_product(side: int = 1024, times: int = 1000) -> Quantity:
    """Seconds of one product of two bfloat16 matrices [side, side] on jax's first device.

    `times` products run in a row within one program, so that starting it costs next to nothing;
    the fastest of five such runs counts.
    """
    import jax
    from jax import numpy as jnp

    def in_a_row(w):
        return jax.lax.fori_loop(0, times, lambda _, y: programs.matmul(y, w), w)

    products = jax.jit(in_a_row)
    identity = jnp.eye(side, dtype="bfloat16")
    seconds = min(repeat(lambda: products(identity).block_until_ready(), number=1, repeat=5))
    return measured(seconds / times, "s", jax.devices()[0].device_kind)
