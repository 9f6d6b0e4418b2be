"""Exercises whose answer is a kernel: launched by `profile`, judged by result, hazards and cost."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from labkit.checks.exercise import Case, Exercise, Refused
from labkit.provenance import Quantity

Launch = tuple[Any, Any, tuple]  # grid, block, the arrays that the kernel fills


def kernel_exercise(
    launch: Callable[..., Launch],
    kernel: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    limit: Callable[[Any, tuple], str | None] = lambda profile, inputs: None,
    costs: Sequence[str] = (),
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner gives the kernel.

    launch   launch(*inputs) -> (grid, block, outputs); the kernel gets inputs, then outputs; the
             first output is the result, in which elements that nobody wrote are 0
    kernel   the course's own
    limit    limit(profile, inputs) -> a sentence when the numbers are right but the cost is not
    costs    counters shown after success, of the learner's kernel on the last case
    """
    last: dict[str, Any] = {}

    def adapter(answer: Any) -> Callable:
        def launched(*inputs: Any) -> np.ndarray:
            grid, block, outputs = launch(*inputs)
            profile = last["profile"] = run(answer, grid, block, *inputs, *outputs)
            sentence = limit(profile, inputs)
            if sentence:  # numbers that are wrong get a diagnosis instead
                grid, block, expected = launch(*inputs)
                kernel[grid, block](*inputs, *expected)
                if np.allclose(outputs[0], expected[0], rtol=1e-3):
                    raise Refused(f"The numbers are right, but {sentence}")
            return outputs[0]

        return launched

    def warm_cases(rng: np.random.Generator) -> Iterable[Case]:
        from labkit.gpu import cuda, profile  # noqa: F401  (slow once, and no fault of the answer)

        return cases(rng)

    def cost() -> list[tuple[str, Quantity]]:
        return [(name.replace("_", " "), last["profile"].quantity(name)) for name in costs]

    fields.setdefault("dtype", "float32")
    return Exercise(
        adapter=adapter, fallback=kernel, cases=warm_cases, cost=cost if costs else None, **fields
    )


def run(answer: Any, grid: Any, block: Any, *arguments: Any) -> Any:
    """A profile of the learner's kernel; Refused when it is none, or has a hazard."""
    from labkit.gpu import profile
    from labkit.gpu.simt.hazards import KernelError

    if not hasattr(answer, "py_func"):
        raise Refused("This is no kernel: write `@cuda.jit` in the line above its `def`.")
    try:
        found = profile(answer, grid, block, *arguments)
    except KernelError as error:
        raise Refused(f"The kernel cannot be launched: {error}") from None
    errors = [hazard for hazard in found.hazards if hazard.severity == "error"]
    if errors:
        raise Refused(errors[0].sentence)
    return found


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 between -2 and 2 in random order, no two alike: equal values hide a wrong index."""
    n = int(np.prod(shape))
    return ((4 * rng.permutation(n) + 1) / n - 2).astype(np.float32).reshape(shape)
