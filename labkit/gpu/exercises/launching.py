"""Exercises whose answer is a kernel: launched by `profile`, judged by result, hazards and cost."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from labkit.checks.exercise import Case, Exercise, Refused
from labkit.provenance import Quantity

Launch = tuple[Any, Any, tuple]  # grid, block, the arrays that the kernel fills
STEPS = 300_000  # in loops: far more than any exercise needs, and soon over
MARK = np.float32(-4096.5)  # what a kernel's output holds before the launch


def kernel_exercise(
    launch: Callable[..., Launch],
    kernel: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    limit: Callable[[Any, tuple], str | None] = lambda profile, inputs: None,
    costs: Sequence[str] = (),
    fills: bool = True,
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner gives the kernel.

    launch   launch(*inputs) -> (grid, block, outputs); the kernel gets inputs, then outputs; the
             first output is the result
    kernel   the course's own
    limit    limit(profile, inputs) -> a sentence when the numbers are right but the cost is not
    costs    counters shown after success, of the learner's kernel on the last case
    fills    the kernel must write every element of its output, whatever was there before
    """
    last: dict[str, Any] = {}

    def adapter(answer: Any) -> Callable:
        if getattr(answer, "py_func", None) is kernel.py_func:
            raise Refused("This is the course's own kernel: write yours.")

        def launched(*inputs: Any) -> np.ndarray:
            grid, block, outputs = launch(*inputs)
            if fills:
                outputs[0].fill(MARK)
            profile = last["profile"] = run(answer, grid, block, *inputs, *outputs)
            *_, expected = launch(*inputs)
            kernel[grid, block](*inputs, *expected)
            sentence = limit(profile, inputs) or few_lanes(profile, inputs[0].size)
            if sentence and np.allclose(outputs[0], expected[0], rtol=1e-3):
                raise Refused(f"The numbers are right, but {sentence}")
            return judge(outputs[0], expected[0]) if fills else outputs[0]

        return launched

    def warm_cases(rng: np.random.Generator) -> Iterable[Case]:
        inputs = next(iter(cases(np.random.default_rng(0)))).args
        grid, block, outputs = launch(*inputs)
        kernel[grid, block](*inputs, *outputs)  # the first launch is slow: not the answer's fault
        return cases(rng)

    def cost() -> list[tuple[str, Quantity]]:
        *_, case = cases(np.random.default_rng(0))
        n = last["profile"]
        return [(f"{case.name}: {name.replace('_', ' ')}", n.quantity(name)) for name in costs]

    fields.setdefault("dtype", "float32")
    return Exercise(
        adapter=adapter, fallback=kernel, cases=warm_cases, cost=cost if costs else None, **fields
    )


def run(answer: Any, grid: Any, block: Any, *arguments: Any) -> Any:
    """A profile of the learner's kernel; Refused when it is none, or has a hazard."""
    from labkit.gpu import profile
    from labkit.gpu.simt.dispatcher import DeviceFunction, Kernel, Launch
    from labkit.gpu.simt.hazards import KernelError

    if isinstance(answer, Launch):
        raise Refused("This is a launch: hand over the kernel itself, without [blocks, threads].")
    if type(answer) is DeviceFunction:
        raise Refused("This is a device function, for kernels to call: leave out device=True.")
    if type(answer) is not Kernel and not type(answer).__module__.startswith("numba"):
        raise Refused("This is no kernel: write `@cuda.jit` in the line above its `def`.")
    answer = Kernel(answer.py_func)
    try:
        found = profile(answer, grid, block, *arguments, steps=STEPS)
    except KernelError as error:
        raise Refused(f"The kernel cannot be launched: {error}") from None
    errors = [hazard for hazard in found.hazards if hazard.severity == "error"]
    if errors:
        raise Refused(errors[0].sentence)
    return found


def few_lanes(profile: Any, size: int) -> str | None:
    """A sentence when few lanes of each warp fetch the elements, as in a loop of one thread."""
    n = profile.counters
    asked = n["global_load_bytes"] / 4 / max(1, n["global_load_requests"])
    if size < 200 or asked > 4:
        return None
    return (
        f"only {asked:.1f} of a warp's 32 lanes fetch an element at a time: few threads do the "
        "work of all. The loop over the elements is the launch itself: one thread for each."
    )


def worst_line(profile: Any, way: str) -> tuple[int, float]:
    """The line whose global "load" or "store" touches most sectors per request, and how many."""
    by = {line: n[f"global_{way}_sectors_per_request"] for line, n in profile.by_line.items()}
    line = max(by, key=by.get, default=0)  # an empty kernel has no lines
    return line, by.get(line, 0)


def judge(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """`got` with 0 where nobody wrote; Refused if the kernel relied on what was there before."""
    unwritten = got == MARK
    if unwritten.all():
        return np.zeros_like(got)
    if np.allclose(got - MARK, expected, atol=1e-2):
        raise Refused(
            "The kernel adds to what the output held before the launch: use `=` instead of `+=`."
        )
    got = np.where(unwritten, np.float32(0), got)
    if unwritten.any() and np.allclose(got, expected, rtol=1e-3):
        first = list(map(int, np.argwhere(unwritten)[0]))
        raise Refused(
            f"Element {first} of the output was never written: it is right only if the memory held "
            "0 before the launch. Write every element, also where the result is 0."
        )
    return got


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 between -2 and 2 in random order, no two alike: equal values hide a wrong index."""
    n = int(np.prod(shape))
    return ((4 * rng.permutation(n) + 1) / n - 2).astype(np.float32).reshape(shape)
