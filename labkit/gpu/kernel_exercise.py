"""Exercises whose answer is a kernel: launched by `profile`, judged by result, hazards and cost."""

import copy
import inspect
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

import labkit
from labkit.checks.exercise import Case, Exercise, Refused, TooDear, Unsolved
from labkit.checks.items import exercise
from labkit.gpu.cost_limits import Launched, too_dear
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
    costs    counters shown after success, of the learner's kernel on the largest case
    fills    the kernel must write every element of its outputs, whatever was there before
    fields   those of an `Exercise`; without `outputs` the kernel's last parameter is the one
    """
    launches: list[Launched] = []  # of the learner's kernel, in the order of the cases
    done: dict[bytes, Launched] = {}  # our launches: the cases are the same at every check

    def prepare(*inputs: Any) -> tuple[Any, Any, tuple, tuple]:
        grid, block, outputs, *arguments = launch(*inputs)
        return grid, block, outputs, arguments[0] if arguments else (*inputs, *outputs)

    def compute(answer: Any, *inputs: Any) -> tuple:
        grid, block, outputs, arguments = prepare(*inputs)
        answer[grid, block](*arguments)
        return outputs

    def ours(*inputs: Any) -> Launched:
        key = pickle.dumps(inputs)
        if key not in done:
            grid, block, outputs, arguments = prepare(*inputs)
            found = run(as_kernel(kernel), grid, block, *arguments)
            done[key] = Launched(kernel, arguments, outputs, found)
        return done[key]

    def adapter(answer: Any) -> Callable:
        machines = as_kernel(answer)
        launches.clear()
        module = getattr(answer.py_func, "__module__", None)
        if isinstance(module, str) and module.startswith(("labkit.", *labkit.ROOMS.values())):
            raise Refused("This is the course's own kernel: write yours.")

        def launched(*inputs: Any) -> Any:
            grid, block, outputs, arguments = prepare(*inputs)
            before = copy.deepcopy(outputs)
            for output in outputs if fills else ():
                output.fill(MARK)
            profile = run(machines, grid, block, *arguments)
            theirs = Launched(answer, arguments, outputs, profile)
            launches.append(theirs)
            expected = ours(*inputs)
            right = all(map(alike, outputs, expected.outputs))
            if right:
                sentence = limit(profile, answer, *inputs) or too_dear(theirs, expected)
                if sentence:
                    raise TooDear(f"The numbers are right, but {sentence}")
            in_place = any(output.any() for output in before)
            if in_place and not right and all(map(np.array_equal, outputs, before)):
                raise Unsolved("the kernel changes nothing")
            if not fills:
                return as_returned(outputs)
            pairs = zip(outputs, expected.outputs, strict=True)
            return as_returned(tuple(judge(*pair, profile) for pair in pairs))

        return launched

    def cost() -> list[tuple[str, Quantity]]:
        """Of the largest case."""
        names = [case.name for case in cases(np.random.default_rng(0))]
        first = launches[: len(names) - 1] or launches  # the last one repeats a shape
        work = [launch.counters["instructions"] for launch in first]
        largest = work.index(max(work))
        profile = launches[largest].profile
        rows = [(name.replace("_", " "), profile.quantity(name)) for name in costs]
        return [(f"{names[largest]}: {label}", quantity) for label, quantity in rows]

    *_, last_parameter = inspect.signature(kernel.py_func).parameters
    fields = {"outputs": (last_parameter,), "dtype": "float32"} | fields
    fields["cost"] = cost if costs else None
    fields |= {"adapter": adapter, "fallback": kernel}
    fields["plain"] = lambda answer, *inputs: as_returned(compute(answer, *inputs))
    return exercise(id, oracle, cases, wrong, **fields)


def as_returned(outputs: tuple) -> Any:
    """What a function of Python returns: one output alone, several as a tuple."""
    return outputs if len(outputs) > 1 else outputs[0]


def as_kernel(answer: Any) -> Any:
    """The learner's kernel for the SIMT machine, compiled once for all launches; or Refused."""
    from labkit.gpu.simt.dispatcher import DeviceFunction, Kernel, LaunchConfiguration

    if isinstance(answer, LaunchConfiguration):
        raise Refused("This is a launch: hand over the kernel itself, without [blocks, threads].")
    if type(answer) is DeviceFunction:
        raise Refused("This is a device function, for kernels to call: leave out device=True.")
    module = type(answer).__module__
    of_numba = module.startswith("numba") and ".cuda" in module
    if module.startswith("numba") and not of_numba:
        raise Refused("This is compiled for the CPU: write `@cuda.jit` instead of `njit` or `jit`.")
    if type(answer) is not Kernel and not of_numba:
        raise Refused("This is no kernel: write `@cuda.jit` in the line above its `def`.")
    return Kernel(answer.py_func)


def run(kernel: Any, grid: Any, block: Any, *arguments: Any) -> Any:
    """A profile of one launch; Refused when it cannot be launched, or has a hazard."""
    from labkit.gpu import profile
    from labkit.gpu.simt.errors import KernelError

    try:
        found = profile(kernel, grid, block, *arguments, steps=STEPS)
    except KernelError as error:
        raise Refused(f"The kernel cannot be launched: {error}") from None
    errors = [hazard for hazard in found.hazards if hazard.severity == "error"]
    if errors:
        raise Refused(errors[0].sentence)
    return found


def judge(got: np.ndarray, expected: np.ndarray, profile: Any) -> np.ndarray:
    """`got` with 0 where nobody wrote; Refused if the kernel relied on what was there before."""
    unwritten = got == MARK
    if unwritten.all():
        return np.zeros_like(got)
    if np.allclose(got - MARK, expected, atol=1e-2):
        how = "`=` instead of `+=`"
        if profile.counters["atomics"]:
            how = "one thread that adds up in a variable, and then stores"
        raise Refused(
            "The kernel adds to what the output held before the launch, which nobody knows: use "
            f"{how}."
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
