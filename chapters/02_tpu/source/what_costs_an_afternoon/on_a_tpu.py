"""What a batch costs on a TPU v5e, as Google's compiler says. Lesson what_costs_an_afternoon."""

from collections.abc import Callable, Iterable

from labkit.provenance import Quantity, compiled

WIDTH = 1024  # numbers in a row, and outputs of the layer


def cycles(batches: Iterable[int]) -> list[tuple[int, Quantity, Quantity]]:
    """For each n the compiler's cycles: the course's network on n images, a layer on n rows.

    The layer is ReLU(x @ w), x [n, 1024], w [1024, 1024] in bfloat16. The answers are stored ones.
    """
    from labkit.tpu.programs import CONVNET, convnet

    rows = []
    for n in batches:
        network = _asked(convnet, [CONVNET, (n, 32, 32, 3)])
        rows.append((n, network, _asked(layer, [(n, WIDTH), (WIDTH, WIDTH)])))
    return rows


def layer(x, w):
    """ReLU(x @ w): x [n, k] and w [k, m] -> [n, m]."""
    import jax

    return jax.nn.relu(x @ w)


def _asked(program: Callable, shapes: list) -> Quantity:
    """The cycles of a program on a v5e, from the snapshot."""
    from labkit.tpu import compile_for_tpu

    made = compile_for_tpu(program, shapes, "v5e:1x1", source="snapshot")
    return compiled(made.estimated_cycles, "cycles", "libtpu")
