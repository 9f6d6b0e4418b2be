"""Exercises whose answer is a kernel: launched by `profile`, judged by result, hazards and cost."""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from labkit.checks.exercise import Case, Exercise, Refused, Unsolved
from labkit.checks.lessons import exercise
from labkit.provenance import Quantity

Launch = tuple  # grid, block, outputs, and perhaps all arguments of the kernel
STEPS = 300_000  # in loops: far more than any exercise needs, and soon over
MARK = np.float32(-4096.5)  # what a kernel's output holds before the launch


def kernel_exercise(
    id: str,
    launch: Callable[..., Launch],
    kernel: Callable,
    cases: Callable[[np.random.Generator], Iterable[Case]],
    oracle: Callable,
    wrong: Mapping[str, Callable],
    limit: Callable[..., str | None] = lambda profile, kernel, *inputs: None,
    costs: Sequence[str] = (),
    fills: bool = True,
    **fields: Any,
) -> Exercise:
    """An `Exercise` of which the learner gives the kernel. Its texts are data (checks.lessons).

    launch   launch(*inputs) -> (grid, block, outputs); the kernel gets inputs, then outputs, which
             are what the oracle returns. A kernel that gets other arguments has them all in a
             fourth item; one that works in place gets copies, and needs fills=False:
             (grid, block, (p, v), (p, v, gradient, rate))
    kernel   the course's own, written beside it or one of labkit.gpu.kernels
    oracle   oracle(*inputs): the outputs, from NumPy; inputs may be arrays and numbers
    wrong    a function like the oracle for each misconception
    limit    limit(profile, kernel, *inputs) -> a sentence when the numbers are right but the cost
             of the learner's kernel is not
    costs    counters shown after success, of the learner's kernel on the last case
    fills    the kernel must write every element of its outputs, whatever was there before
    fields   those of an `Exercise`; without `outputs` the kernel's last parameter is the one
    """
    last: dict[str, Any] = {}

    def prepare(*inputs: Any) -> tuple[Any, Any, tuple, tuple]:
        grid, block, outputs, *arguments = launch(*inputs)
        return grid, block, outputs, arguments[0] if arguments else (*inputs, *outputs)

    def compute(answer: Any, *inputs: Any) -> tuple:
        grid, block, outputs, arguments = prepare(*inputs)
        answer[grid, block](*arguments)
        return outputs

    def adapter(answer: Any) -> Callable:
        module = getattr(getattr(answer, "py_func", None), "__module__", None)
        if isinstance(module, str) and module.startswith("labkit."):
            raise Refused("This is the course's own kernel: write yours.")

        def launched(*inputs: Any) -> Any:
            grid, block, outputs, arguments = prepare(*inputs)
            before = copy.deepcopy(outputs)
            for output in outputs if fills else ():
                output.fill(MARK)
            profile = last["profile"] = run(answer, grid, block, *arguments)
            expected = compute(kernel, *inputs)
            right = all(map(alike, outputs, expected))
            sentence = limit(profile, answer, *inputs) or few_lanes(profile, *inputs)
            if sentence and right:
                raise Refused(f"The numbers are right, but {sentence}")
            in_place = any(output.any() for output in before)
            if in_place and not right and all(map(np.array_equal, outputs, before)):
                raise Unsolved("the kernel changes nothing")
            return as_returned(tuple(map(judge, outputs, expected)) if fills else outputs)

        return launched

    def few_lanes(profile: Any, *inputs: Any) -> str | None:
        """A sentence when few lanes fetch the elements, unlike in our kernel: one thread loops."""
        size = next(array.size for array in inputs if isinstance(array, np.ndarray))
        few, (grid, block, _, arguments) = lanes(profile), prepare(*inputs)
        if size < 200 or few > 4 or lanes(run(kernel, grid, block, *arguments)) <= 4:
            return None
        return (
            f"only {few:.1f} of a warp's 32 lanes fetch an element at a time: few threads do the "
            "work of all. Share it out among all threads of the launch."
        )

    def warm_cases(rng: np.random.Generator) -> Iterable[Case]:
        first = next(iter(cases(np.random.default_rng(0))))
        compute(kernel, *first.args)  # the first launch is slow: not the answer's fault
        return cases(rng)

    def cost() -> list[tuple[str, Quantity]]:
        *_, case = cases(np.random.default_rng(0))
        n = last["profile"]
        return [(f"{case.name}: {name.replace('_', ' ')}", n.quantity(name)) for name in costs]

    *_, last_parameter = inspect.signature(kernel.py_func).parameters
    fields = {"outputs": (last_parameter,), "dtype": "float32"} | fields
    fields["cost"] = cost if costs else None
    fields |= {"adapter": adapter, "fallback": kernel}
    fields["plain"] = lambda answer, *inputs: as_returned(compute(answer, *inputs))
    return exercise(id, oracle, warm_cases, wrong, **fields)


def as_returned(outputs: tuple) -> Any:
    """What a function of Python returns: one output alone, several as a tuple."""
    return outputs if len(outputs) > 1 else outputs[0]


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


def lanes(profile: Any) -> float:
    """How many lanes of a warp fetch an element from global memory at a time, on average."""
    n = profile.counters
    return n["global_load_bytes"] / 4 / max(1, n["global_load_requests"])


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
    if unwritten.any() and alike(got, expected):
        first = list(map(int, np.argwhere(unwritten)[0]))
        raise Refused(
            f"Element {first} of the output was never written: it is right only if the memory held "
            "0 before the launch. Write every element, also where the result is 0."
        )
    return got


def alike(got: np.ndarray, expected: np.ndarray) -> bool:
    """Whether the numbers are right, so that only the cost may be wrong."""
    return np.allclose(got, expected, rtol=1e-3)


def blocks(size: int, threads: int) -> int:
    """How many blocks (along one axis) give every element a thread."""
    return -(-size // threads)


def distinct(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """float32 between -2 and 2 in random order, no two alike: equal values hide a wrong index."""
    n = int(np.prod(shape))
    return ((4 * rng.permutation(n) + 1) / n - 2).astype(np.float32).reshape(shape)
